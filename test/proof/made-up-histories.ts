import { dayMs } from '../../src/core/durations.ts';
import { logistic } from '../../src/core/scoring/model/log-odds.ts';
import { seededRandom } from '../../src/kit/random.ts';
import type { PlainVisitor } from './plain-visitors.ts';

export const madeUpStartMs = Date.UTC(2025, 0, 6);

const channels = ['direct', 'organic', 'paid', 'email', 'social'];
const pages = ['/', 'blog', 'features', 'docs', 'about', 'contact'];

export interface MadeUp {
	readonly visitors: number;
	readonly days: number;
	readonly seed: number;
	/** Log-odds of a sale for a visitor of average intent, by day. It may drift. */
	readonly level: (day: number) => number;
	/** How strongly pages and channels predict a sale; 0: not at all. */
	readonly signal: number;
	/** Mean number of visits per visitor. */
	readonly visits: number;
	/** A sale follows the last hit within this many days. */
	readonly withinDays: number;
}

/** Generates visitors whose first visits are spread evenly over the days. Each visit may lead to a sale. */
export function madeUpHistories(options: MadeUp): PlainVisitor[] {
	const { visitors, days, seed, level, signal, visits, withinDays } = options;
	const random = seededRandom(seed);
	const pick = (names: readonly string[]) => names[Math.floor(random() * names.length)] as string;
	return Array.from({ length: visitors }, () => {
		const hits: PlainVisitor['hits'][number][] = [];
		const sales: NonNullable<PlainVisitor['sales']>[number][] = [];
		const intent = random() + random() + random() - 1.5;
		let day = random() * days;
		const count = visits === 1 ? 1 : 1 + Math.floor(-Math.log(1 - random()) * (visits - 0.5));
		for (let visit = 0; visit < count && day < days; visit++) {
			const channel = random() < logistic(intent * 2 * signal - 1) ? 'email' : pick(channels);
			let atMs = madeUpStartMs + Math.round(day * dayMs);
			for (let more = true; more; more = random() < 0.55) {
				const page = random() < logistic(intent * 3 * signal - 1.5) ? 'pricing' : pick(pages);
				hits.push({ atMs, visit, page, channel });
				atMs += 10_000 + Math.floor(random() * 200_000);
			}
			const saleDay = (atMs - madeUpStartMs) / dayMs + random() * withinDays;
			if (random() < logistic(level(day) + 2 * signal * intent))
				sales.push({ atMs: madeUpStartMs + Math.round(saleDay * dayMs), evt: 'sale', pence: 999 });
			day += 0.3 + -Math.log(1 - random()) * 12;
		}
		return { hits, sales };
	});
}
