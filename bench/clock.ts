/** Milliseconds of a clock that all threads of a process share. */
export function clockMs(): number {
	return Number(process.hrtime.bigint()) / 1e6;
}
