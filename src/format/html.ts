/**
 * One HTML page that needs nothing else: no script, no font, no network.
 * @param style CSS besides that of text, tables and warnings
 */
export function htmlPage(title: string, style: string, body: string): string {
	return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapeHtml(title)}</title><style>
body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}
table{border-collapse:collapse}td,th{padding:.2rem 1rem .2rem 0;text-align:left;font-variant-numeric:tabular-nums}
.warning{background:#fff3cd;padding:.5rem 1rem}
${style}
</style></head><body>
${body}
</body></html>
`;
}

/** Names of channels, campaigns and features come from hits, which anybody may send. */
export function escapeHtml(text: string): string {
	return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
