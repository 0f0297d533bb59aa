/** Monotonic milliseconds, with the same origin in all threads of a process. */
export function clockMs(): number {
	return Number(process.hrtime.bigint()) / 1e6;
}
