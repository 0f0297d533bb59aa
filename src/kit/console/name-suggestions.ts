import { type TouchDimension, touchDimensions } from '../../core/domain/touch.ts';
import { parseOrigin } from '../../core/store/account/profiles/touches.ts';
import { latestEvents } from '../reading/event-finding.ts';
import { latestTouches } from '../reading/touch-rows.ts';
import type { AccountRequest } from './page.ts';

const readLatest = 2000;
/** Of each kind, the most frequent ones. */
const maxNames = 40;

/** What an account's arrivals and events were called lately, to choose from. */
export type NameSuggestions = Readonly<Record<TouchDimension | 'evt', readonly string[]>>;

export function nameSuggestions({ store, account, now, kept }: AccountRequest): Promise<NameSuggestions> {
	return kept('names', async () => {
		const touches = await store.read(account.id, latestTouches({ fromMs: 0, toMs: now() + 1 }, readLatest));
		const events = await store.read(account.id, latestEvents(now(), readLatest));
		const origins = touches.map(([, , text]) => parseOrigin(text));
		return Object.fromEntries([
			...touchDimensions.map((name) => [name, mostOf(origins.map((origin) => origin[name]))]),
			['evt', mostOf(events.map(({ evt }) => evt))],
		]);
	});
}

function mostOf(names: readonly (string | null | undefined)[]): string[] {
	return [...Map.groupBy(names, (name) => name ?? '')]
		.filter(([name]) => name !== '')
		.sort(([, a], [, b]) => b.length - a.length)
		.slice(0, maxNames)
		.map(([name]) => name);
}
