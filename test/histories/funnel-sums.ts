import type { Log } from '../core/store/stored-log.ts';
import { About } from './alike.ts';
import { type Asked, dayMs, type Figures, isIn, ratio, readLog } from './journeys.ts';
import { isNobody } from './model.ts';

/** The same as `path-sums.ts` for who saw a page, and what became of them. */
export function funnel(log: Log, asked: Asked): Figures {
	const { log: known, owners, gateways, touches } = readLog(log, asked);
	const views = [...Map.groupBy(known.hits, ({ vid }) => vid)].flatMap(([vid, own]) => {
		if (gateways.has(vid)) return [];
		const hits = own.toSorted((a, b) => a.atMs - b.atMs || (a.text < b.text ? -1 : 1));
		const seen = hits.filter(({ atMs, body }) => body.page !== null && isIn(asked, atMs));
		return [...Map.groupBy(seen, ({ body }) => body.page as string)].map(([page, [first]]) => {
			const { atMs, body } = first as (typeof seen)[number];
			const endMs = atMs + asked.days * dayMs;
			const tids = hits
				.filter((hit) => hit.atMs >= atMs && hit.atMs <= endMs)
				.flatMap((hit) => hit.body.events.flatMap(({ tid }) => tid ?? []))
				.filter((tid) => !isNobody(tid));
			return {
				page,
				device: body.device,
				// That of the last arrival; whoever has none came directly.
				channel: touches.get(vid)?.findLast((touch) => touch.atMs <= atMs)?.origin[0] ?? 'direct',
				isWaiting: endMs > asked.asOfMs,
				hasBegun: tids.length > 0,
				hasPaid: tids.some((tid) => owners.get(tid)?.vid === vid),
			};
		});
	});
	const figures: Figures = new Map();
	let row = 0;
	const add = (name: string, some: typeof views) => {
		const over = some.filter(({ isWaiting }) => !isWaiting);
		const [began, paid] = [over.filter(({ hasBegun }) => hasBegun), over.filter(({ hasPaid }) => hasPaid)];
		figures.set(`row ${row++}`, name);
		figures.set(`${name}: visitors`, over.length);
		figures.set(`${name}: waiting`, some.length - over.length);
		figures.set(`${name}: began`, began.length);
		figures.set(`${name}: beganRate`, ratio(began.length, over.length));
		figures.set(`${name}: paid`, paid.length);
		figures.set(`${name}: paidRate`, ratio(paid.length, over.length));
		const [low, high] = over.length === 0 ? [null, null] : wilson(paid.length, over.length);
		figures.set(`${name}: low`, low);
		figures.set(`${name}: high`, high);
	};
	const byCount = (
		[a, some]: readonly [string, typeof views],
		[b, others]: readonly [string, typeof views],
		countOf: (all: typeof views) => number,
	) => countOf(others) - countOf(some) || (a < b ? -1 : 1);
	const pages = [...Map.groupBy(views, ({ page }) => page)]
		.sort((a, b) => byCount(a, b, ({ length }) => length))
		.slice(0, asked.top);
	for (const [page, own] of pages) {
		add(`${page} all `, own);
		for (const part of ['channel', 'device'] as const) {
			const all = [...Map.groupBy(own, (view) => view[part])].sort((a, b) =>
				byCount(a, b, (views) => views.filter(({ isWaiting }) => !isWaiting).length),
			);
			for (const [value, some] of all) add(`${page} ${part} ${value}`, some);
		}
	}
	return figures;
}

/** The two shares of which so many are just as far away as chance brings them in 95 of 100 cases. */
function wilson(count: number, of: number): [low: About, high: About] {
	const share = count / of;
	const isWithin = (true_: number) => Math.abs(share - true_) <= 1.96 * Math.sqrt((true_ * (1 - true_)) / of);
	const end = (far: number) => {
		let [inside, outside] = [share, far];
		for (let step = 0; step < 60; step++) {
			const middle = (inside + outside) / 2;
			if (isWithin(middle)) inside = middle;
			else outside = middle;
		}
		return new About(inside, 0.000_052);
	};
	return [end(0), end(1)];
}
