/** Reads curves at a place: under the pointer, or from place to place with the arrow keys. The table beside them has the same. */

/** @type {{ readonly svg: SVGSVGElement, readonly line: SVGLineElement, readonly tip: HTMLElement, place: number } | undefined} */
let shown;

/** The points of a picture by their place, from left to right. @param {SVGSVGElement} svg */
function placesOf(svg) {
	const points = [...svg.querySelectorAll('circle, g > rect')]
		.filter((point) => point instanceof SVGGeometryElement)
		.filter((point) => point.textContent);
	const places = Map.groupBy(points, (point) => {
		const { x, width } = point.getBBox();
		return Math.round(x + width / 2);
	});
	return [...places].sort(([a], [b]) => a - b);
}

function hide() {
	shown?.line.remove();
	shown?.tip.remove();
	shown = undefined;
}

/** @param {SVGSVGElement} svg @param {(places: number[], now: number) => number} choose the place */
function read(svg, choose) {
	const places = placesOf(svg);
	if (places.length === 0) return;
	if (shown?.svg !== svg) {
		hide();
		const line = document.createElementNS('http://www.w3.org/2000/svg', 'line');
		const tip = document.createElement('output');
		line.setAttribute('class', 'cross');
		line.setAttribute('y1', '0');
		line.setAttribute('y2', `${svg.viewBox.baseVal.height}`);
		tip.className = 'tip';
		svg.prepend(line);
		svg.closest('.picture')?.append(tip);
		shown = { svg, line, tip, place: -1 };
	}
	const chosen = choose(
		places.map(([x]) => x),
		shown.place,
	);
	if (chosen === shown.place) return;
	shown.place = chosen;
	const [x, points] = /** @type {[number, SVGGeometryElement[]]} */ (places[chosen]);
	shown.line.setAttribute('x1', `${x}`);
	shown.line.setAttribute('x2', `${x}`);
	shown.tip.textContent = points.map((point) => point.textContent).join('\n');
	const box = svg.getBoundingClientRect();
	const within = /** @type {Element} */ (svg.closest('.picture')).getBoundingClientRect();
	const at = box.left - within.left + (x * box.width) / svg.viewBox.baseVal.width;
	const width = shown.tip.offsetWidth;
	shown.tip.style.left = `${Math.max(0, Math.min(at + 8, within.width - width))}px`;
	shown.tip.style.top = `${box.top - within.top}px`;
}

/** @param {EventTarget | null} target */
const curvesOf = (target) =>
	target instanceof Element ? /** @type {SVGSVGElement | null} */ (target.closest('svg.curves')) : null;

addEventListener('pointermove', ({ target, clientX }) => {
	const svg = curvesOf(target);
	if (!svg) {
		if (!shown?.svg.parentElement?.matches(':focus')) hide();
		return;
	}
	const box = svg.getBoundingClientRect();
	const x = ((clientX - box.left) * svg.viewBox.baseVal.width) / box.width;
	read(svg, (places) =>
		places.reduce(
			(best, place, at) => (Math.abs(place - x) < Math.abs((places[best] ?? 0) - x) ? at : best),
			0,
		),
	);
});

addEventListener('keydown', (event) => {
	const all = event.target instanceof Element ? event.target.querySelectorAll(':scope > svg.curves') : [];
	const svg = [...all].find((each) => each.clientWidth > 0);
	if (!(svg instanceof SVGSVGElement)) return;
	if (event.key === 'Escape') return hide();
	const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
	if (!step) return;
	event.preventDefault();
	read(svg, (places, now) => Math.max(0, Math.min(places.length - 1, now + step)));
});

addEventListener('focusout', hide);
