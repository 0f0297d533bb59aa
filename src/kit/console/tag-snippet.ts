/** Where browsers and back ends reach a server that only its operator knows the address of. */
export const unknownOrigin = 'https://your-caskade.example';

/** What to put on every page. */
export function tagSnippet(aid: string, tagUrl: string): string {
	return `<script>
	window.vscr=window.vscr||function(){(vscr.q=vscr.q||[]).push(arguments)};
	vscr('setAccount', '${aid}');
	vscr('fire');
</script>
<script async src="${tagUrl}"></script>`;
}
