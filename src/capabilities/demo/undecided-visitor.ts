import { dayMs } from '../../core/durations.ts';
import type { DemoEntry } from './entry.ts';

/** In a small shop, days pass in which nobody looks at the plans more than twice. */
const recentMs = 14 * dayMs;

/** The visitor worth looking at: recently active, looked at the plans most often, and has not bought. */
export function undecidedVisitor(entries: readonly DemoEntry[]): number | undefined {
	const buyers = new Set(entries.filter(({ type }) => type === 'subscription').map(({ visitor }) => visitor));
	const lastAtMs = entries.at(-1)?.atMs ?? 0;
	const views = new Map<number, number>();
	const lately = new Set<number>();
	for (const entry of entries) {
		if (entry.type !== 'hit' || buyers.has(entry.visitor)) continue;
		const viewed = entry.fields.events.filter(({ name }) => name === 'plans-viewed').length;
		views.set(entry.visitor, (views.get(entry.visitor) ?? 0) + viewed);
		if (lastAtMs - entry.atMs < recentMs) lately.add(entry.visitor);
	}
	const candidates = [...views].filter(([visitor]) => lately.has(visitor));
	return candidates.sort(([a, viewsA], [b, viewsB]) => viewsB - viewsA || a - b)[0]?.[0];
}
