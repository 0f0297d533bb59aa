/** Parts in which a semicolon ends no statement: comments, strings, quoted names, dollar-quoted bodies. */
const quoted = String.raw`--.*|/\*[^]*?\*/|'[^']*'|"[^"]*"|\$(\w*)\$[^]*?\$\1\$`;
const statement = new RegExp(`(?:${quoted}|[^;])+`, 'g');

/** Splits a file into its statements. */
export function statementsOf(sql: string): string[] {
	return [...sql.matchAll(statement)].map(([text]) => text.trim()).filter((text) => text !== '');
}
