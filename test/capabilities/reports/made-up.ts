import fc from 'fast-check';
import { subscriptionOf } from '../../../src/core/domain/subscription-steps.ts';
import type { Touch } from '../../../src/core/domain/touch.ts';
import { dayMs } from '../../../src/core/durations.ts';
import type { Journey } from '../../../src/kit/reports/journey.ts';
import { LostPaths } from '../../../src/kit/reports/lost-paths.ts';

export const day0Ms = Date.UTC(2026, 0, 1);
export const allTime = { fromMs: Number.NEGATIVE_INFINITY, toMs: Number.POSITIVE_INFINITY };

/** A touch of a channel, `day` days after 1 January 2026. */
export function touch(channel: string, day: number): Touch {
	return {
		atMs: day0Ms + day * dayMs,
		channel,
		source: null,
		medium: null,
		campaign: null,
		landing: null,
	};
}

/** A subscription with these payments (day and pence) and touches. */
export function journey(
	subid: string,
	payments: readonly (readonly [day: number, pence: number])[],
	path: readonly Touch[] = [],
	fields: { owner?: string; evt?: string; shownDay?: number } = {},
): Journey {
	const { owner = subid, evt = 'newsletter', shownDay } = fields;
	const events = payments.map(([day, revenuePence]) => ({
		subid,
		evt,
		revenuePence,
		atMs: day0Ms + day * dayMs,
		shownAtMs: shownDay === undefined ? null : day0Ms + shownDay * dayMs,
	}));
	return { subscription: subscriptionOf(events, owner), path };
}

const channels = ['affiliates', 'direct', 'email', 'organic search', 'paid search', 'social'];

const madeUpPath = fc
	.array(fc.tuple(fc.constantFrom(...channels), fc.integer({ min: 0, max: 80 })), { maxLength: 6 })
	.map((touches) => touches.sort(([, a], [, b]) => a - b).map(([channel, day]) => touch(channel, day)));

/** Random subscriptions with renewals and refunds, in the order of `subid`. */
export const madeUpJourneys: fc.Arbitrary<Journey[]> = fc
	.array(
		fc.record({
			path: madeUpPath,
			payments: fc.array(
				fc.tuple(fc.integer({ min: 80, max: 400 }), fc.integer({ min: -10_000, max: 100_000 })),
				{ minLength: 1, maxLength: 5 },
			),
			owner: fc.integer({ min: 0, max: 9 }),
		}),
		{ maxLength: 40 },
	)
	.map((all) =>
		all.map(({ path, payments, owner }, number) =>
			journey(`S-${String(number).padStart(3, '0')}`, payments, path, { owner: `V-${owner}` }),
		),
	);

/** Random paths of visitors who did not subscribe, with the number of visitors. */
export function lostPaths(
	paths: readonly { readonly labels: readonly string[]; readonly visitors: number }[] = [],
): LostPaths {
	const lost = new LostPaths();
	for (const { labels, visitors } of paths)
		for (let visitor = 0; visitor < visitors; visitor++) {
			for (const label of labels) lost.step(lost.labels.numberOf(label));
			lost.end();
		}
	return lost;
}

export const madeUpLost = fc
	.array(
		fc.record({
			labels: fc.array(fc.constantFrom(...channels), { minLength: 1, maxLength: 5 }),
			visitors: fc.integer({ min: 1, max: 50 }),
		}),
		{ maxLength: 10 },
	)
	.map(lostPaths);
