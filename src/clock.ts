/** Milliseconds of a clock that never goes back and that all threads of the process share. */
export function monotonicMs(): number {
	return Number(process.hrtime.bigint()) / 1e6;
}
