/** Shows the progress of a long command: a bar on a terminal, otherwise an occasional line. */
export interface Progress {
	update(label: string, done: number, total: number): void;
	/** Finishes the bar's line. */
	end(): void;
}

const barColumns = 24;
const drawEveryMs = 100;
const lineEveryMs = 5000;
const wholeNumbers = new Intl.NumberFormat('en-GB');

/**
 * @param unit for example `events`
 * @param quiet shows nothing but the bar, for output that a program reads
 */
export function showProgress(stream: NodeJS.WriteStream, unit: string, quiet: boolean): Progress {
	if (!stream.isTTY && quiet) return { update() {}, end() {} };
	const line = progressLine(unit);
	let lastAtMs = Number.NEGATIVE_INFINITY;
	let lastLabel = '';
	let drawn = false;
	return {
		update(label, done, total) {
			const nowMs = performance.now();
			const everyMs = stream.isTTY ? drawEveryMs : lineEveryMs;
			if (label === lastLabel && nowMs - lastAtMs < everyMs && done < total) return;
			const text = line(label, done, total, nowMs);
			lastAtMs = nowMs;
			lastLabel = label;
			drawn = true;
			stream.write(stream.isTTY ? `\r${bar(done, total)} ${text}\u001b[K` : `${text}\n`);
		},
		end() {
			if (drawn && stream.isTTY) stream.write('\n');
		},
	};
}

function bar(done: number, total: number): string {
	const full = total === 0 ? barColumns : Math.min(barColumns, Math.floor((done / total) * barColumns));
	return `[${'#'.repeat(full)}${'.'.repeat(barColumns - full)}]`;
}

/** Formats a step's progress and speed. The speed is measured from the start of this run of the step. */
function progressLine(unit: string): (label: string, done: number, total: number, nowMs: number) => string {
	let began: { step: string; atMs: number; done: number } | undefined;
	return (label, done, total, nowMs) => {
		const step = label.split(' ', 1)[0] as string;
		if (began?.step !== step) began = { step, atMs: nowMs, done };
		const seconds = (nowMs - began.atMs) / 1000;
		const perSecond = seconds > 0 ? (done - began.done) / seconds : 0;
		const state = `${label}: ${wholeNumbers.format(done)} of ${wholeNumbers.format(total)} ${unit}`;
		if (perSecond <= 0) return state;
		const speed = perSecond < 1 ? '' : `, ${wholeNumbers.format(Math.round(perSecond))}/s`;
		const left = done < total ? `, ${wholeNumbers.format(Math.ceil((total - done) / perSecond))} s left` : '';
		return `${state}${speed}${left}`;
	};
}
