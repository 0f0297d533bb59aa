import type { Clock } from '../../client/src/clock.ts';
import { Caskade, type CaskadeOptions } from '../../client/src/index.ts';
import type { ServedAccount } from '../support.ts';

/** A client of a service under test. */
export function clientOf(
	{ url, key }: Pick<ServedAccount, 'url' | 'key'>,
	options: Partial<CaskadeOptions> = {},
): Caskade {
	return new Caskade({ url, apiKey: key, ...options });
}

/** Events with distinct `tid`s. */
export function newsletters(
	count: number,
	prefix = 'T',
): { tid: string; subid: string; evt: string; rvn: number }[] {
	return Array.from({ length: count }, (_, index) => ({
		tid: `${prefix}-${index}`,
		subid: `S-${index}`,
		evt: 'newsletter',
		rvn: index,
	}));
}

/** A clock for one request at a time: it jumps to the end of whatever somebody waits for. */
export function jumpingClock(): Clock {
	let nowMs = 0;
	return {
		now: () => nowMs,
		async sleep(ms, signal) {
			signal?.throwIfAborted();
			nowMs += ms;
		},
	};
}
