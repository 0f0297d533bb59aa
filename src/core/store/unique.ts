/** The values that are there, each once, in their order. */
export function unique(values: readonly (string | null)[]): string[] {
	return [...new Set(values.filter((value) => value !== null))];
}
