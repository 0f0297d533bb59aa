import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * Factor by which tests extend promised times, because other tests keep the machine busy. Tests show that something
 * happens; `bench/` shows how fast it is on an idle machine.
 */
export const patience = 30;

/** Polls until a condition holds. @returns the time that took, in milliseconds */
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
