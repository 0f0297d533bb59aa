/** The sides of a drawing, and what its axes leave of them. */
export const size = 260;
export const margin = 36;

/** One HTML page that needs nothing else: no script, no font, no network. */
export function page(title: string, body: string): string {
	return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${escapeHtml(title)}</title><style>
body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}
table{border-collapse:collapse}td,th{padding:.2rem 1rem .2rem 0;text-align:left;font-variant-numeric:tabular-nums}
figure{display:inline-block;margin:0 1rem 1rem 0}figcaption{font-weight:600}.warning{background:#fff3cd;padding:.5rem 1rem}
section{border-top:1px solid #ccc;margin-top:2rem}svg text{font-size:11px;fill:#555}
</style></head><body>
<h1>${escapeHtml(title)}</h1>
${body}
</body></html>
`;
}

/** A drawing with its axes. */
export function figure(
	caption: string,
	drawing: string,
	across: string,
	[from, to]: readonly [string, string],
	up = '',
): string {
	const bottom = size - margin + 16;
	return `<figure><figcaption>${caption}</figcaption><svg width="${size}" height="${size}" role="img" aria-label="${caption}">
<path d="M${margin} ${margin}V${size - margin}H${size - margin}" fill="none" stroke="#888"/>${drawing}
<text x="${margin}" y="${bottom}">${from}</text><text x="${size - margin}" y="${bottom}" text-anchor="end">${to}</text><text x="${size / 2}" y="${bottom + 14}" text-anchor="middle">${across}</text><text x="${margin}" y="${margin - 6}">${up}</text></svg></figure>`;
}

export function place(across: number, up: number): [string, string] {
	const length = size - 2 * margin;
	return [(margin + across * length).toFixed(1), (size - margin - up * length).toFixed(1)];
}

export function point(across: number, up: number): string {
	return place(across, up).join(',');
}

/** Names of features come from pages, which anybody may write. */
export function escapeHtml(text: string): string {
	return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
