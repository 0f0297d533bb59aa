/** Buttons that copy the text of an element. Without scripts, or a clipboard, they stay hidden. */
for (const button of /** @type {NodeListOf<HTMLButtonElement>} */ (
	document.querySelectorAll('button[data-copy]')
)) {
	// Browsers offer the clipboard only to secure pages.
	if (!navigator.clipboard) continue;
	button.hidden = false;
	const label = button.textContent;
	button.addEventListener('click', async () => {
		const text = document.getElementById(button.dataset.copy ?? '')?.textContent ?? '';
		await navigator.clipboard.writeText(text);
		button.textContent = 'Copied';
		setTimeout(() => (button.textContent = label), 2000);
	});
}
