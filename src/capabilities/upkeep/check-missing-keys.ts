import { maxSharing } from '../../core/domain/shared-key.ts';
import { dayMs } from '../../core/durations.ts';
import { counted, formatNumber, listed } from '../../core/format/numbers.ts';
import type { Check } from '../../core/store/maintenance.ts';
import type { Store } from '../../core/store/store.ts';
import { withoutHidden } from '../../kit/format/hidden-characters.ts';
import { missingKeysShown, sharedKeys, unjoinableKeysOfEvents } from '../../kit/reading/missing-keys.ts';

/** What was sent earlier has been mended, or never will be. */
const lookedAtMs = 90 * dayMs;

/** Names what joins nobody: what programs send in place of a missing key, and what too many share. Only the senders must be mended. */
export async function* checkMissingKeys(
	store: Store,
	isReadable: (aid: string) => boolean,
): AsyncIterable<Check> {
	for (const { id, aid } of await store.control.accounts()) {
		if (!isReadable(aid)) continue;
		const asOfMs = store.now();
		const sent = await store.read(
			id,
			unjoinableKeysOfEvents({ fromMs: asOfMs - lookedAtMs, toMs: asOfMs, asOfMs }),
		);
		const shown = await store.read(id, missingKeysShown());
		const shared = await store.read(id, sharedKeys());
		const eventsOf = (field: string, value: string) =>
			sent.find((key) => key.why === 'shared' && key.field === field && key.value === value)?.events ?? 0;
		const named = [
			...shared.map(
				({ field, value }) =>
					`${field} '${value}', which more than ${formatNumber(maxSharing)} share, of ${counted(eventsOf(field, value), 'event')}`,
			),
			...sent
				.filter(({ why }) => why === 'missing')
				.map(({ field, value, events }) => `${field} '${value}' of ${counted(events, 'event')}`),
			...shown.map(
				({ field, value, visitors }) => `${field} '${value}' shown by ${counted(visitors, 'visitor')}`,
			),
		];
		if (named.length === 0) continue;
		yield {
			check: `keys of ${aid}`,
			ok: true,
			detail: withoutHidden(
				`some that were sent stand for a missing one, or too many share them, so they join nobody: ${listed(named)}. Whoever sends them should send none`,
			),
		};
	}
}
