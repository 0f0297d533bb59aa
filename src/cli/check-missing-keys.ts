import { dayMs } from '../durations.ts';
import { withoutHidden } from '../format/hidden-characters.ts';
import { counted, listed } from '../format/numbers.ts';
import { missingKeysOfEvents, missingKeysShown } from '../store/account/reading/missing-keys.ts';
import type { Check } from '../store/maintenance.ts';
import type { Store } from '../store/store.ts';

/** What was sent earlier has been mended, or never will be. */
const lookedAtMs = 90 * dayMs;

/** Names what programs send in place of a missing key. It joins nobody, so only the senders must be mended. */
export async function* checkMissingKeys(
	store: Store,
	isReadable: (aid: string) => boolean,
): AsyncIterable<Check> {
	for (const { id, aid } of await store.control.accounts()) {
		if (!isReadable(aid)) continue;
		const asOfMs = store.now();
		const sent = await store.read(
			id,
			missingKeysOfEvents({ fromMs: asOfMs - lookedAtMs, toMs: asOfMs, asOfMs }),
		);
		const shown = await store.read(id, missingKeysShown());
		const named = [
			...sent.map(({ field, value, events }) => `${field} '${value}' of ${counted(events, 'event')}`),
			...shown.map(
				({ field, value, visitors }) => `${field} '${value}' shown by ${counted(visitors, 'visitor')}`,
			),
		];
		if (named.length === 0) continue;
		yield {
			check: `keys of ${aid}`,
			ok: true,
			detail: withoutHidden(
				`some that were sent stand for a missing one and join nobody: ${listed(named)}. Whoever sends them should send none`,
			),
		};
	}
}
