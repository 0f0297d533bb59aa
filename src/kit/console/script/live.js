/** Keeps a page up to date: one that is being made, or whose figures change. */

/** Shows a newer page: all of it where it was being made, else parts that differ and are not in use. @param {Document} page */
export function show(page) {
	const main = page.querySelector('main');
	const busy = document.querySelector('main[aria-busy]');
	if (busy && main) return busy.replaceWith(document.adoptNode(main));
	for (const old of document.querySelectorAll('[data-part]')) {
		const part = old.getAttribute('data-part') ?? '';
		const fresh = page.querySelector(`[data-part="${CSS.escape(part)}"]`);
		if (!fresh || fresh.outerHTML === old.outerHTML) continue;
		if (old.contains(document.activeElement)) continue;
		const isOpen = [...old.querySelectorAll('details')].map(({ open }) => open);
		for (const [place, details] of fresh.querySelectorAll('details').entries())
			details.open ||= isOpen[place] ?? false;
		old.replaceWith(document.adoptNode(fresh));
	}
}

/** @param {string} text */
export const parsed = (text) => new DOMParser().parseFromString(text, 'text/html');

const isLive = () => document.querySelector('main[data-live]') !== null;
/** @type {EventSource | undefined} */
let source;

function open() {
	if (!isLive()) return;
	// The server asks browsers without scripts to reload.
	stop();
	source?.close();
	if (document.hidden) return;
	const of = encodeURIComponent(location.pathname + location.search);
	source = new EventSource(`/console/live?of=${of}`);
	source.onmessage = ({ data }) => show(parsed(data));
	source.addEventListener('end', ({ data }) => {
		source?.close();
		document.querySelector('main')?.prepend(...parsed(data).body.children);
	});
	source.onerror = () => {
		const isWaiting = document.querySelector('main[aria-busy]');
		if (source?.readyState === EventSource.CLOSED && isWaiting) setTimeout(() => location.reload(), 2000);
	};
}

// Only pages looked at hold one of the browser's six connections.
addEventListener('visibilitychange', open);
addEventListener('pagehide', () => source?.close());
addEventListener('pageshow', () => setTimeout(open));
