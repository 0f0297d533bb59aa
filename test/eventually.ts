import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * How many times as long as is promised something may take on a machine that is busy with other tests. That it comes is
 * what tests can tell; how fast it is on an idle machine, `bench/` can.
 */
export const patience = 20;

/** Checks again and again until it holds. @returns how long that took */
export async function eventually(
	what: string,
	holds: () => boolean | Promise<boolean>,
	promisedMs = 1000,
): Promise<number> {
	const beganMs = performance.now();
	while (!(await holds())) {
		const tookMs = performance.now() - beganMs;
		assert.ok(tookMs < promisedMs * patience, `not within ${promisedMs * patience} ms: ${what}`);
		await delay(10);
	}
	return performance.now() - beganMs;
}
