/**
 * A thread that says when requests are due, at random moments as from many clients that know nothing of each other
 * (a Poisson process). It sleeps in `Atomics.wait`, which is exact to a tenth of a millisecond; timers are not.
 * Posts the times that have come, in lists, and null at the end.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { clockMs } from './clock.ts';

const { ratePerSecond, startAtMs, endAtMs } = workerData as {
	ratePerSecond: number;
	startAtMs: number;
	endAtMs: number;
};
const never = new Int32Array(new SharedArrayBuffer(4));
const gapMs = () => (-Math.log(1 - Math.random()) * 1000) / ratePerSecond;

let dueAtMs = startAtMs + gapMs();
while (dueAtMs < endAtMs) {
	const waitMs = dueAtMs - clockMs();
	if (waitMs > 0) Atomics.wait(never, 0, 0, waitMs);
	const nowMs = clockMs();
	const due: number[] = [];
	for (; dueAtMs <= nowMs && dueAtMs < endAtMs; dueAtMs += gapMs()) due.push(dueAtMs);
	if (due.length > 0) parentPort?.postMessage(due);
}
parentPort?.postMessage(null);
