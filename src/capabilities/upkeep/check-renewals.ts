import type { Check } from '../../core/store/maintenance.ts';
import type { Store } from '../../core/store/store.ts';
import { learnedCadences } from '../../kit/reading/payments.ts';
import { assumedRenewals } from '../../kit/reports/courses.ts';

/** Tells of event types that nobody has renewed yet how often reports take them to be paid. */
export async function* checkRenewals(
	store: Store,
	isReadable: (aid: string) => boolean,
): AsyncIterable<Check> {
	for (const account of await store.control.accounts()) {
		if (!isReadable(account.aid)) continue;
		const detail = assumedRenewals(
			account,
			await store.read(account.id, learnedCadences(store.now(), account.cancellationEvt)),
		);
		if (detail !== null) yield { check: `renewals of ${account.aid}`, ok: true, isNote: true, detail };
	}
}
