/**
 * A thread that generates arrival times as a Poisson process, like those of many independent clients. It sleeps in
 * `Atomics.wait`, which is exact to a tenth of a millisecond. Timers are not. Posts a list of the arrival times that have
 * come, again and again, and null at the end.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { clockMs } from './clock.ts';

const { ratePerSecond, startAtMs, endAtMs } = workerData as {
	ratePerSecond: number;
	startAtMs: number;
	endAtMs: number;
};
const neverNotified = new Int32Array(new SharedArrayBuffer(4));
const gapMs = () => (-Math.log(1 - Math.random()) * 1000) / ratePerSecond;

let dueAtMs = startAtMs + gapMs();
while (dueAtMs < endAtMs) {
	const waitMs = dueAtMs - clockMs();
	if (waitMs > 0) Atomics.wait(neverNotified, 0, 0, waitMs);
	const nowMs = clockMs();
	const due: number[] = [];
	for (; dueAtMs <= nowMs && dueAtMs < endAtMs; dueAtMs += gapMs()) due.push(dueAtMs);
	if (due.length > 0) parentPort?.postMessage(due);
}
parentPort?.postMessage(null);
