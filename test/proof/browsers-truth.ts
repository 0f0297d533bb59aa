import type { Log } from '../core/store/stored-log.ts';

/** A sale, and how its buyer first came. */
export interface Sale {
	readonly tid: string;
	/** Channel and landing page. Of each arrival there is one. */
	readonly firstTouch: string;
}

/**
 * What really happened, as the script knows it. A visitor is a browser of a person; on a shared browser, each customer is one.
 * Every screen has a title of its own and every event a name of its own, so that none is taken for another.
 */
export class Truth {
	/** Who saw the screen of a title. */
	readonly seen = new Map<string, string>();
	/** Who did what an event names. */
	readonly fired = new Map<string, string>();
	readonly sales: Sale[] = [];

	get visitors(): Set<string> {
		return new Set([...this.seen.values(), ...this.fired.values()]);
	}
}

/** What was counted of things that should each be there once. */
export interface Counted {
	readonly wanted: number;
	readonly told: number;
	readonly lost: readonly string[];
	/** There more than once, or never done. */
	readonly extra: readonly string[];
}

export interface Compared {
	readonly visitors: {
		readonly wanted: number;
		readonly told: number;
		/** One visitor that is told as several, and several that are told as one. */
		readonly split: readonly string[];
		readonly merged: readonly string[];
	};
	readonly pages: Counted;
	readonly events: Counted;
	readonly sales: { readonly wanted: number; readonly right: number; readonly wrong: readonly string[] };
}

/** @param credited how many sales the service credits to each first touch */
export function compare(
	truth: Truth,
	{ hits }: Pick<Log, 'hits'>,
	credited: ReadonlyMap<string, number>,
): Compared {
	const titles = hits.flatMap(({ body }) => (body.page === null ? [] : [body.title ?? '']));
	const names = hits.flatMap(({ body }) => body.events.map(({ name }) => name));
	const vidsOf = new Map<string, Set<string>>();
	const visitorsOf = new Map<string, Set<string>>();
	for (const { vid, body } of hits) {
		const [event] = body.events;
		const visitor = truth.seen.get(body.title ?? '') ?? truth.fired.get(event?.name ?? '');
		if (visitor === undefined) continue;
		vidsOf.set(visitor, (vidsOf.get(visitor) ?? new Set()).add(vid));
		visitorsOf.set(vid, (visitorsOf.get(vid) ?? new Set()).add(visitor));
	}
	const several = (found: ReadonlyMap<string, ReadonlySet<string>>) =>
		[...found].flatMap(([one, others]) =>
			others.size > 1 ? `${one}: ${others.size}, such as ${[...others].slice(0, 2).join(' and ')}` : [],
		);
	const uncredited = new Map(credited);
	const wrong = truth.sales.filter(({ firstTouch }) => {
		const left = uncredited.get(firstTouch) ?? 0;
		uncredited.set(firstTouch, left - 1);
		return left < 1;
	});
	return {
		visitors: {
			wanted: truth.visitors.size,
			told: new Set(hits.map(({ vid }) => vid)).size,
			split: several(vidsOf),
			merged: several(visitorsOf),
		},
		pages: count(truth.seen, titles),
		events: count(truth.fired, names),
		sales: {
			wanted: truth.sales.length,
			right: truth.sales.length - wrong.length,
			wrong: wrong.map(({ tid, firstTouch }) => `${tid}: ${firstTouch}`),
		},
	};
}

function count(wanted: ReadonlyMap<string, string>, told: readonly string[]): Counted {
	const left = new Set(wanted.keys());
	const extra = told.filter((name) => !left.delete(name));
	return {
		wanted: wanted.size,
		told: told.length,
		lost: [...left].map((name) => `${name}, of ${wanted.get(name)}`),
		extra,
	};
}
