import type { EventKind } from '../../core/domain/event-kind.ts';
import { isWanted, type Touch, touchDimensions, wantedTouch } from '../../core/domain/touch.ts';
import { counted } from '../../core/format/numbers.ts';
import { creditedPlace } from '../../kit/reports/attribution-model.ts';
import { type CoursedJourney, readCoursesWith } from '../../kit/reports/courses.ts';
import {
	amountsOf,
	countedSteps,
	isIn,
	type Journey,
	netPence,
	type Period,
	startedAtMs,
	totalOf,
} from '../../kit/reports/journey.ts';
import { reportThat } from '../../kit/reports/report.ts';
import { commonParameters, type ReportQuery } from '../../kit/reports/report-query.ts';
import { withColumns } from '../../kit/reports/report-table.ts';

/** More are for a program, by smaller periods. */
const maxRows = 10_000;

/** What figures that lead here count, of each kind of event. */
const countedColumns = {
	trial: [],
	acquisition: ['acquisitionPence'],
	renewal: ['renewals', 'renewalPence'],
	refund: ['refunds', 'refundPence'],
	cancellation: [],
} as const satisfies Readonly<Record<EventKind, readonly string[]>>;
/** For people. The rest is in the files, and on the page of each. */
const shownColumns = ({ having, moved }: Pick<ReportQuery, 'having' | 'moved'>) => [
	...(['subid', 'evt', 'acquired', 'state', 'chosenChannel', 'channel'] as const),
	...(having === null ? (moved === null ? (['renewals', 'refunds'] as const) : []) : countedColumns[having]),
	...(['movedPence', 'netPence'] as const),
];

/** By how much the recurring revenue of each has moved in a way, of those that have. What is at risk is so now. */
function movedBy(
	courses: readonly CoursedJourney[],
	moved: NonNullable<ReportQuery['moved']>,
	period: Period,
): Map<Journey, number> {
	const all = new Map<Journey, number>();
	for (const journey of courses) {
		if (!journey.course) continue;
		const { movements, state, recurringPence } = journey.course;
		if (moved === 'at-risk') {
			if (state === 'at risk') all.set(journey, recurringPence);
			continue;
		}
		let before = 0;
		for (const { kind, atMs, recurringPence: after, isByWill = false } of movements) {
			const isMoved = kind === moved || (kind === 'ended' && moved === (isByWill ? 'cancelled' : 'lapsed'));
			if (isMoved && isIn(period, atMs)) all.set(journey, (all.get(journey) ?? 0) + Math.abs(after - before));
			before = after;
		}
	}
	return all;
}

/** The touch for which a subscription is there; undefined where touches choose nothing, or it has none that is chosen. */
function chosenTouch(
	{ path }: Journey,
	credited: ReportQuery['credited'],
	wanted: ReturnType<typeof wantedTouch>,
): Touch | undefined {
	if (credited === null)
		return wanted.length === 0 ? undefined : path.findLast((touch) => isWanted(touch, wanted));
	const isDirect = path.map(({ channel }) => channel === 'direct');
	const touch = path[creditedPlace(credited, isDirect)];
	return touch && isWanted(touch, wanted) ? touch : undefined;
}

/** Where somebody came from, for people. */
const originText = (channel: string | null, campaign: string | null) =>
	[channel, campaign].filter(Boolean).join(' / ') || null;

/** The rows behind the figures of other reports. */
export const subscriptionsReport = reportThat({
	kind: 'subscriptions',
	title: 'Subscriptions',
	summary: 'the subscriptions behind the figures of other reports',
	definition:
		'A row for each subscription with an event in the period, the latest start first, at most 10,000: its `state` now, the last touch before its start, and its `renewals`, `refunds` and pence in the period. With the basis `cohort`, a row for each that started in the period, with all its events. `having` keeps only those with an event of the kind it names. `credited` keeps those for which the model it names credits a touch with the chosen properties. `moved` keeps those whose recurring revenue changed in the way it names, by `movedPence` in the period, with or without an event.',
	parameters: [
		...commonParameters,
		'basis',
		'having',
		'credited',
		'moved',
		'lookbackDays',
		...touchDimensions,
		'segment',
		'period',
	],
	isOfPersons: true,
	columns: {
		subid: { isLong: true },
		acquired: { heading: 'began' },
		movedPence: { isOptional: true, heading: 'change of recurring revenue' },
		vid: { heading: 'visitor' },
	},
	async make({ account, query, period, calendar, asOfMs, journeys, courses: readCourses, read }) {
		const { basis, having, credited, moved } = query;
		const wanted = wantedTouch(query);
		const movedPence = moved && movedBy(await readCourses(), moved, period);
		const counted = (movedPence ? [...movedPence.keys()] : (await journeys()).journeys)
			.map((journey) => ({
				...journey,
				steps: countedSteps(journey.subscription, period, basis),
				movedPence: movedPence?.get(journey) ?? null,
				touch: chosenTouch(journey, credited, wanted),
			}))
			.filter(({ steps }) => movedPence || steps.some(({ kind }) => having === null || kind === having))
			.filter(({ touch }) => credited === null || touch)
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
		const rowOf = ({ subscription, path, steps, movedPence, touch }: (typeof shown)[number]) => {
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
				movedPence,
				chosenChannel: touch?.channel ?? null,
				chosenCampaign: touch?.campaign ?? null,
				channel: last?.channel ?? null,
				campaign: last?.campaign ?? null,
				touches: path.length,
				vid: owner,
			};
		};
		return {
			basis,
			having,
			credited,
			moved,
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
	parts: ({ rows, credited, having, moved }) => [
		{
			title: '',
			rows: withColumns(
				rows.map((row) => ({
					...row,
					chosenChannel: originText(row.chosenChannel, row.chosenCampaign),
					channel: originText(row.channel, row.campaign),
				})),
				shownColumns({ having, moved }),
			),
			columns: {
				chosenChannel: {
					isOptional: true,
					isLong: true,
					heading: credited === null ? 'chosen touch' : 'credited touch',
				},
				channel: { isLong: true, heading: 'last touch' },
			},
		},
	],
	draw: () => null,
});
