/**
 * What a reader would complain about on a page: what is cut, covered, pale, or goes on without a word. Runs in the page.
 * @param {boolean} isPrinted whether it is on paper, where nothing can be scrolled
 */
globalThis.pageProblems = async (isPrinted) => {
	// What can be scrolled is known in the frame after the layout.
	for (let frame = 0; frame < 2; frame++) await new Promise(requestAnimationFrame);
	const problems = [];
	const root = document.documentElement;
	// Of a picture that has another one for telephones, one is shown.
	const texts = [...document.querySelectorAll('svg text')].filter((text) => text.checkVisibility());
	const say = (what, element) => problems.push(`${what}: ${element.textContent?.slice(0, 60)}`);
	if (root.scrollWidth > root.clientWidth) problems.push(`the page is ${root.scrollWidth} pixels wide`);
	for (const wide of document.querySelectorAll('.wide')) {
		const goesOn = wide.scrollWidth > wide.clientWidth;
		const count = wide.querySelector('.more td:last-child');
		// A table counts the columns that are out of sight.
		const says = count
			? /columns: /.test(getComputedStyle(count, '::after').content)
			: getComputedStyle(wide, '::before').display !== 'none';
		if (isPrinted && (goesOn || says)) say('it does not fit on paper', wide);
		if (!isPrinted && goesOn !== says) say(goesOn ? 'it goes on silently' : 'it says that it goes on', wide);
	}
	for (const table of document.querySelectorAll('table'))
		if (isPrinted && table.getBoundingClientRect().right > root.clientWidth + 1) say('cut on paper', table);
	for (const cell of document.querySelectorAll('td.number')) {
		const text = document.createRange();
		text.selectNodeContents(cell);
		const lines = new Set([...text.getClientRects()].map(({ top }) => Math.round(top)));
		if (lines.size > 1) say('a number on two lines', cell);
	}
	for (const svg of document.querySelectorAll('svg')) {
		if (!svg.checkVisibility()) continue;
		const box = svg.getBoundingClientRect();
		const own = [...svg.querySelectorAll('text')];
		const boxes = own.map((text) => text.getBoundingClientRect());
		const scale = box.width / (svg.viewBox.baseVal.width || 1);
		if (scale * 13 < (isPrinted ? 6 : 9)) say(`texts of ${(scale * 13).toFixed(1)} pixels`, svg);
		for (const [place, text] of boxes.entries()) {
			const isOut =
				text.left < box.left - 1 ||
				text.right > box.right + 1 ||
				text.top < box.top - 1 ||
				text.bottom > box.bottom + 1;
			if (isOut) say('cut', own[place]);
			for (const [after, other] of boxes.slice(place + 1).entries()) {
				const across = Math.min(text.right, other.right) - Math.max(text.left, other.left);
				const down = Math.min(text.bottom, other.bottom) - Math.max(text.top, other.top);
				if (across > 1 && down > 0.35 * text.height)
					say(`over '${own[place]?.textContent}'`, own[place + 1 + after]);
			}
		}
	}
	const lightOf = (colour) => {
		const [red = 0, green = 0, blue = 0] = (colour.match(/[\d.]+/g) ?? []).map((part) => {
			const share = Number(part) / 255;
			return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
		});
		return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
	};
	const ground = getComputedStyle(document.body).backgroundColor;
	const behind = /, 0\)|transparent/.test(ground) ? 1 : lightOf(ground);
	const readable = (light, back) => (Math.max(light, back) + 0.05) / (Math.min(light, back) + 0.05) >= 4.5;
	for (const text of texts) if (!readable(lightOf(getComputedStyle(text).fill), behind)) say('pale', text);
	for (const element of document.querySelectorAll('p, h1, h2, th, td:not(.shaded), td.shaded')) {
		const style = getComputedStyle(element);
		const own = (style.backgroundColor.match(/[\d.]+/g) ?? []).map(Number);
		const [red = 0, green = 0, blue = 0, opacity = 1] = own;
		const base = (ground.match(/[\d.]+/g) ?? []).map(Number);
		const page = behind === 1 ? [255, 255, 255] : base;
		const mixed = [red, green, blue].map((part, at) => part * opacity + page[at] * (1 - opacity));
		if (!readable(lightOf(style.color), lightOf(`rgb(${mixed.join()})`))) say('pale', element);
	}
	return [...new Set(problems)].slice(0, 12);
};
