import type { EventKind } from '../../core/domain/event-kind.ts';
import { touchDimensions } from '../../core/domain/touch.ts';
import { counted } from '../../core/format/numbers.ts';
import { readCoursesWith } from '../../kit/reports/courses.ts';
import { amountsOf, countedSteps, netPence, startedAtMs, totalOf } from '../../kit/reports/journey.ts';
import { reportThat } from '../../kit/reports/report.ts';
import { commonParameters } from '../../kit/reports/report-query.ts';

/** More are for a program, by smaller periods. */
const maxRows = 10_000;

/** The rows behind the figures of other reports. */
export const subscriptionsReport = reportThat({
	kind: 'subscriptions',
	title: 'Subscriptions',
	summary: 'the subscriptions behind the figures of other reports',
	definition:
		'A row for each subscription with an event in the period, the latest acquired first: its `state` now, the last touch before it, and of its events in the period the number of `renewals` and `refunds`, and pence. With the basis `cohort`, the subscriptions acquired in the period, with all their events. With `having`, only those that have such an event among these. The latest 10,000.',
	parameters: [
		...commonParameters,
		'basis',
		'having',
		'lookbackDays',
		...touchDimensions,
		'segment',
		'period',
	],
	isOfPersons: true,
	columns: { subid: { isLong: true }, vid: { heading: 'visitor' } },
	async make({ account, query, period, calendar, asOfMs, journeys, read }) {
		const { basis, having } = query;
		const counted = (await journeys()).journeys
			.map((journey) => ({ ...journey, steps: countedSteps(journey.subscription, period, basis) }))
			.filter(({ steps }) => steps.some(({ kind }) => having === null || kind === having))
			.sort((a, b) => startedAtMs(b.subscription) - startedAtMs(a.subscription));
		const shown = counted.slice(0, maxRows);
		const subids = shown.map(({ subscription }) => subscription.subid);
		const renewalDays = { ...account.renewalDays, ...query.period };
		const courses = new Map(
			(await read(() => readCoursesWith(subids, asOfMs, { ...account, renewalDays }))).map(
				({ subscription, course }) => [subscription.subid, course?.state ?? null],
			),
		);
		const count = (steps: readonly { readonly kind: EventKind }[], of: EventKind) =>
			steps.filter(({ kind }) => kind === of).length;
		const rowOf = ({ subscription, path, steps }: (typeof shown)[number]) => {
			const { subid, evt, owner } = subscription;
			const { subscriptions: _, trials: _trials, ...pence } = amountsOf(steps);
			const last = path.at(-1);
			return {
				subid,
				evt,
				acquired: calendar.dayOf(startedAtMs(subscription)),
				state: courses.get(subid) ?? null,
				renewals: count(steps, 'renewal'),
				refunds: count(steps, 'refund'),
				...pence,
				netPence: netPence(pence),
				channel: last?.channel ?? null,
				campaign: last?.campaign ?? null,
				touches: path.length,
				vid: owner,
			};
		};
		return {
			basis,
			having,
			rows: shown.map(rowOf),
			totals: totalOf(counted.map(({ steps }) => ({ amounts: amountsOf(steps) }))),
			...(shown.length < counted.length && {
				notes: [`These are the latest ${maxRows} of ${counted.length} subscriptions.`],
			}),
		};
	},
	answer: ({ rows, totals }, money) =>
		rows.length === 0
			? null
			: `${money(totals.netPence)} net: ${counted(totals.subscriptions, 'new subscription')} (${money(totals.acquisitionPence)}), renewals ${money(totals.renewalPence)}, refunds ${money(totals.refundPence)}.`,
	draw: () => null,
});
