import { withoutHidden } from '../format/hidden-characters.ts';
import { listed } from '../format/numbers.ts';
import { learnedCadences } from '../store/account/reading/payments.ts';
import type { Check } from '../store/maintenance.ts';
import type { Store } from '../store/store.ts';

/** Names event types that nobody has renewed, while others have been: reports take these to be paid as often. */
export async function* checkRenewals(
	store: Store,
	isReadable: (aid: string) => boolean,
): AsyncIterable<Check> {
	for (const { id, aid, renewalDays, cancellationEvt } of await store.control.accounts()) {
		if (!isReadable(aid)) continue;
		const { evts, all } = await store.read(id, learnedCadences(store.now(), cancellationEvt));
		const unknown = evts.filter(([evt, days]) => days.length === 0 && renewalDays[evt] === undefined);
		if (all.length === 0 || unknown.length === 0) continue;
		yield {
			check: `renewals of ${aid}`,
			ok: true,
			detail: withoutHidden(
				`nobody has renewed ${listed(unknown.map(([evt]) => `'${evt}'`))}, so reports take it to be paid as often as others. Say how often, or that it is paid once: 'caskade account update ${aid} --renewal-days EVT=never'`,
			),
		};
	}
}
