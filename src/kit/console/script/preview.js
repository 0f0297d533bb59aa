/** Shows what a form would give while somebody types. It asks as the form's button does. */
import { parsed, show } from './live.js';

const pauseMs = 600;
/** @type {AbortController | undefined} */
let asking;
let timer = 0;

addEventListener('input', ({ target }) => soon(/** @type {HTMLInputElement} */ (target)));
// What was typed before this script came.
for (const field of document.querySelectorAll('input, textarea')) {
	const typed = /** @type {HTMLInputElement} */ (field);
	if (typed.value !== typed.defaultValue) soon(typed);
}

/** @param {HTMLInputElement} field */
function soon({ form }) {
	if (form?.dataset.preview === undefined) return;
	clearTimeout(timer);
	timer = setTimeout(() => preview(form), pauseMs);
}

/** @param {HTMLFormElement} form */
async function preview(form) {
	asking?.abort();
	asking = new AbortController();
	const { signal } = asking;
	const fields = /** @type {Record<string, string>} */ (Object.fromEntries(new FormData(form)));
	const address = `${form.getAttribute('action')}?${new URLSearchParams(fields)}`;
	try {
		for (;;) {
			const answer = await fetch(address, { signal });
			const page = parsed(await answer.text());
			// Its figures are still being made.
			if (answer.headers.has('refresh')) {
				await new Promise((resolve) => setTimeout(resolve, pauseMs));
				continue;
			}
			if (!answer.ok || signal.aborted) return;
			show(page);
			describe(form, page);
			return history.replaceState(null, '', address);
		}
	} catch (error) {
		if (!signal.aborted) throw error;
	}
}

/** Says which fields are wrong. @param {HTMLFormElement} form @param {Document} page */
function describe(form, page) {
	for (const field of form.elements) {
		const name = field.getAttribute('name');
		const fresh = name && page.querySelector(`[data-preview] [name="${CSS.escape(name)}"]`);
		if (!fresh) continue;
		for (const attribute of ['aria-invalid', 'aria-describedby']) {
			const value = fresh.getAttribute(attribute);
			if (value === null) field.removeAttribute(attribute);
			else field.setAttribute(attribute, value);
		}
	}
}
