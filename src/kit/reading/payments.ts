import type { CancellationEvt } from '../../core/domain/event-kind.ts';
import { compareEvents } from '../../core/domain/event-order.ts';
import type { CadenceTable, Paid } from '../../core/domain/subscription-cadence.ts';
import { paymentsOf } from '../../core/domain/subscription-course.ts';
import { type Step, startOf, stepsOf } from '../../core/domain/subscription-steps.ts';
import { type OfNames, rowsOfNames } from '../../core/store/account/reading/rows.ts';
import { type Reading, rowsOf, select } from '../../core/store/steps.ts';
import { cadenceTableOf } from './learned-cadences.ts';

/** The sample: the subscriptions of so many events, at so many places in order of arrival. */
const places = 40;
const maxEvents = 2000;
const subidsPerRead = 100;

function eventsWhere(condition: 'named > 0' | 'named = 0', asOfMs: number): OfNames {
	return {
		sql: `SELECT subid, evt, rvn, received_at FROM @subscription_event WHERE ${condition} AND received_at <= ? AND subid IN ?list`,
		values: [asOfMs],
		order: 'received_at DESC, id DESC',
		maxRows: 10_000,
		maxRowsPerName: 100,
	};
}

/** The payments up to a moment of at most 2,000 subscriptions, spread evenly over time, whosever they are. */
function* sampledPayments(asOfMs: number, cancellationEvt: CancellationEvt): Reading<Paid[]> {
	const [extent] =
		yield* select`min(id) AS first, max(id) AS last FROM @subscription_event WHERE received_at <= ${asOfMs} /* sampled payments */`;
	if (!extent || extent.first === null) return [];
	const first = Number(extent.first);
	const count = Number(extent.last) + 1 - first;
	// Of a few events, one statement has all.
	const length = count <= maxEvents ? 1 : places;
	const sampled = yield* rowsOf(
		Array.from({ length }, (_, place) => {
			const fromId = first + Math.floor((count * place) / length);
			return select`subid FROM @subscription_event WHERE id >= ${fromId} AND received_at <= ${asOfMs} ORDER BY id LIMIT ${maxEvents / length} /* sampled payments */`;
		}),
	);
	const subids = new Set(sampled.map(({ subid }) => String(subid)));
	const paid: Paid[] = [];
	for (const some of pagesOf([...subids])) {
		// Each half has an index.
		const rows = [
			...(yield* rowsOfNames(some, eventsWhere('named > 0', asOfMs))),
			...(yield* rowsOfNames(some, eventsWhere('named = 0', asOfMs))),
		];
		const events = rows
			.map(({ subid, evt, rvn, received_at }) => ({
				subid: String(subid),
				evt: String(evt),
				revenuePence: Number(rvn),
				atMs: Number(received_at),
			}))
			.sort(compareEvents);
		for (const ofOne of Map.groupBy(events, ({ subid }) => subid).values())
			paid.push(paidBy(ofOne, cancellationEvt));
	}
	return paid.filter(({ payments }) => payments.length > 0);
}

/** What the payments up to a moment tell about how often subscriptions are paid. */
export function* learnedCadences(asOfMs: number, cancellationEvt: CancellationEvt): Reading<CadenceTable> {
	return cadenceTableOf(yield* sampledPayments(asOfMs, cancellationEvt), asOfMs);
}

function paidBy(events: readonly Step[], cancellationEvt: CancellationEvt): Paid {
	const steps = stepsOf(events, cancellationEvt);
	const { evt } = (startOf(steps) ?? steps[0]) as Step;
	return { evt, payments: paymentsOf({ steps }) };
}

function* pagesOf(subids: readonly string[]): Generator<readonly string[]> {
	for (let from = 0; from < subids.length; from += subidsPerRead)
		yield subids.slice(from, from + subidsPerRead);
}
