/** For `--import`: the wall clock of the process is as far off as `MOVED_CLOCK_MS` says. */
const aheadMs = Number(process.env.MOVED_CLOCK_MS);
const now = Date.now.bind(Date);

globalThis.Date = class extends Date {
	constructor(...args) {
		super(...(args.length === 0 ? [now() + aheadMs] : args));
	}

	static now() {
		return now() + aheadMs;
	}
};
