/** The order of texts by their code units, which every machine has. */
export function compareTexts(a: string, b: string): number {
	return a < b ? -1 : Number(a > b);
}
