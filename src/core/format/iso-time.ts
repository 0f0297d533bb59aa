/** Formats milliseconds since 1970 as a time in ISO 8601, in UTC. */
export function isoTime(atMs: number): string;
export function isoTime(atMs: number | null): string | null;
export function isoTime(atMs: number | null): string | null {
	return atMs === null ? null : new Date(atMs).toISOString();
}
