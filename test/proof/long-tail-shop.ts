import { dayMs, minuteMs } from '../../src/core/durations.ts';
import { logistic } from '../../src/core/scoring/model/log-odds.ts';
import { seededRandom } from '../../src/kit/random.ts';
import type { PlainVisitor } from './plain-visitors.ts';

const startMs = Date.UTC(2025, 0, 6);
const days = 540;
const visitors = 5000;
const commonPages = 40;
const ownPages = 1960;

/**
 * A shop that people find by searching for one of its many articles: 5,000 visitors, 2,000 landing pages, most of which only
 * one visitor has. Some visitors come often for a while, and then no more. How often they come says much about what they buy,
 * and the landing page nothing.
 */
export function longTailShop(seed: number): PlainVisitor[] {
	const random = seededRandom(Math.imul(seed, 0x9e3779b1));
	const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
	const exponential = (mean: number) => -Math.log(1 - random()) * mean;
	return Array.from({ length: visitors }, (_, number): PlainVisitor => {
		const page = number < ownPages ? `article-${number}` : `list-${Math.floor(random() * commonPages)}`;
		const joins = days * random();
		const lifeDays = exponential(40) * Math.exp(0.5 * normal());
		const paceDays = 6 * Math.exp(0.7 * normal());
		const buys = -2.2 + normal();
		const hits: PlainVisitor['hits'][number][] = [];
		const sales: NonNullable<PlainVisitor['sales']>[number][] = [];
		let visit = 0;
		for (let day = joins; day < Math.min(days, joins + lifeDays); day += 0.1 + exponential(paceDays)) {
			let atMs = startMs + Math.floor(day * dayMs);
			for (let more = true, first = true; more; more = random() < 0.7, first = false) {
				hits.push({
					atMs,
					visit,
					page: first && visit === 0 ? page : `list-${Math.floor(random() * commonPages)}`,
				});
				atMs += Math.floor(exponential(2) * minuteMs);
			}
			if (random() < logistic(buys)) sales.push({ atMs, evt: 'order', pence: 2500 });
			visit++;
		}
		return { hits, sales };
	});
}
