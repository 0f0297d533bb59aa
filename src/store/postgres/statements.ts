/** What a semicolon does not end: a comment, a text, a quoted name, a body in dollars. */
const quoted = String.raw`--.*|/\*[^]*?\*/|'[^']*'|"[^"]*"|\$(\w*)\$[^]*?\$\1\$`;
const statement = new RegExp(`(?:${quoted}|[^;])+`, 'g');

/** The statements of a file, one by one. */
export function statementsOf(sql: string): string[] {
	return [...sql.matchAll(statement)].map(([text]) => text.trim()).filter((text) => text !== '');
}
