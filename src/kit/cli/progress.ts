import { formatNumber } from '../../core/format/numbers.ts';

/** Shows the progress of a long command: a bar on a terminal, otherwise an occasional line. */
export interface Progress {
	update(label: string, done: number, total: number): void;
	/** Tells what the command waits for, beside the bar. */
	waitFor(text: string): void;
	/** Finishes the bar's line. */
	end(): void;
}

const barColumns = 24;
const drawEveryMs = 100;
const lineEveryMs = 5000;

/**
 * @param unit for example `events`
 * @param quiet shows nothing but the bar, for output that a program reads
 */
export function showProgress(stream: NodeJS.WriteStream, unit: string, quiet: boolean): Progress {
	const line = progressLine(unit);
	let lastAtMs = Number.NEGATIVE_INFINITY;
	let lastWaitAtMs = Number.NEGATIVE_INFINITY;
	let lastLabel = '';
	let lastBar = '';
	let drawn = false;
	return {
		update(label, done, total) {
			if (!stream.isTTY && quiet) return;
			const nowMs = performance.now();
			const everyMs = stream.isTTY ? drawEveryMs : lineEveryMs;
			if (label === lastLabel && nowMs - lastAtMs < everyMs && done < total) return;
			const text = line(label, done, total, nowMs);
			lastAtMs = nowMs;
			lastLabel = label;
			drawn = true;
			lastBar = bar(done, total);
			stream.write(stream.isTTY ? `\r${lastBar} ${text}\u001b[K` : `${text}\n`);
		},
		waitFor(text) {
			const nowMs = performance.now();
			if (stream.isTTY) stream.write(`\r${lastBar} ${text}\u001b[K`);
			else if (nowMs - lastWaitAtMs >= lineEveryMs) stream.write(`${text}\n`);
			else return;
			lastWaitAtMs = nowMs;
			drawn = true;
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
		const state = `${label}: ${formatNumber(done)} of ${formatNumber(total)} ${unit}`;
		if (perSecond <= 0) return state;
		const speed = perSecond < 1 ? '' : `, ${formatNumber(Math.round(perSecond))}/s`;
		const left = done < total ? `, ${formatNumber(Math.ceil((total - done) / perSecond))} s left` : '';
		return `${state}${speed}${left}`;
	};
}
