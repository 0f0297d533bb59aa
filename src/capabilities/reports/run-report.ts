import { leftOutText, noGateways } from '../../core/domain/mail-gateways.ts';
import { hasLabels } from '../../core/domain/subscription-event.ts';
import { isWanted, paymentProviders, wantedTouch } from '../../core/domain/touch.ts';
import { OperatorError } from '../../core/errors.ts';
import { moneyOf } from '../../core/format/money.ts';
import type { PageReads } from '../../core/store/serving.ts';
import type { Store } from '../../core/store/store.ts';
import { withoutHidden } from '../../kit/format/hidden-characters.ts';
import { gatewaysOf } from '../../kit/reading/gateways.ts';
import { historyReader } from '../../kit/reading/histories.ts';
import { customersOfSubscriptions } from '../../kit/reading/journey-events.ts';
import { reportOf } from '../../kit/reports/all-reports.ts';
import {
	addDays,
	addMonths,
	type Calendar,
	calendarOf,
	daysBetween,
	isOfMonths,
	monthsBetween,
} from '../../kit/reports/calendar.ts';
import { coursesOf } from '../../kit/reports/courses.ts';
import { requireExactSums } from '../../kit/reports/exact-sums.ts';
import { allTime, isIn, type Journey, type Period } from '../../kit/reports/journey.ts';
import { isOfTouches } from '../../kit/reports/label.ts';
import { rateWarnings } from '../../kit/reports/rates.ts';
import { type JourneyOptions, readJourneys, readSubscriptions } from '../../kit/reports/read-journeys.ts';
import type { Report, ReportDefinition, ReportSource } from '../../kit/reports/report.ts';
import { filters, type ReportedAccount, type ReportQuery } from '../../kit/reports/report-query.ts';
import { tableOf } from '../../kit/reports/report-table.ts';
import { segmentMembers } from './segment-members.ts';
import { unknownNames } from './unknown-names.ts';

/** Makes a report of an account as of one moment, and the one that it is compared with. */
export async function runReport(
	store: Store & PageReads,
	account: ReportedAccount,
	query: ReportQuery,
): Promise<Report> {
	const calendar = calendarOf(query.timezone ?? account.timezone);
	const asOfMs = query.asOf ?? store.now();
	const earlier = earlierQuery(query, calendar, asOfMs);
	const definition = await reportOf(query.kind);
	const made = { definition, calendar };
	const report = await makeReport(store, account, query, { ...made, asOfMs });
	if (!earlier) return answered(definition, report);
	const compared = await makeReport(store, account, earlier, { ...made, asOfMs: earlier.asOf });
	return answered(
		definition,
		withWarnings({ ...report, compared }, rateWarnings(tableOf(definition, compared))),
	);
}

/** With the sentence on top of it. Names in it are as anybody has sent them. */
function answered(definition: ReportDefinition, report: Report): Report {
	const answer = definition.answer(report, moneyOf(report.currency));
	const { aid, from, to, asOf, timezone, currency, ...rest } = report;
	return { aid, from, to, asOf, timezone, currency, answer: answer && withoutHidden(answer), ...rest };
}

/**
 * What a report is compared with: of calendar months, as many before; else whole weeks before, so that weekdays match. And as of as much
 * earlier, because older periods have had more time to bring something.
 */
function earlierQuery(
	query: ReportQuery,
	calendar: Calendar,
	asOfMs: number,
): (ReportQuery & { readonly asOf: number }) | undefined {
	const { compare, from } = query;
	if (compare === null) return undefined;
	if (from === null) throw new OperatorError('A comparison needs a period. Give its first day (from).');
	const to = query.to ?? addDays(calendar.dayOf(asOfMs), 1);
	if (query.to === null && to <= from)
		throw new OperatorError('A comparison of a period that has not begun needs its end, too (to).');
	if (isOfMonths(from, to)) {
		const months = compare === 'year' ? 12 : monthsBetween(from, to);
		const [earlierFrom, earlierTo] = [from, to].map((day) => `${addMonths(day.slice(0, 7), -months)}-01`) as [
			string,
			string,
		];
		const asOf = calendar.daysBefore(asOfMs, daysBetween(earlierTo, to));
		return { ...query, from: earlierFrom, to: earlierTo, asOf };
	}
	const days = compare === 'year' ? 52 * 7 : 7 * Math.ceil(daysBetween(from, to) / 7);
	return {
		...query,
		from: addDays(from, -days),
		to: addDays(to, -days),
		asOf: calendar.daysBefore(asOfMs, days),
	};
}

interface MadeOf {
	readonly definition: ReportDefinition;
	readonly calendar: Calendar;
	readonly asOfMs: number;
}

async function makeReport(
	store: Store & PageReads,
	account: ReportedAccount,
	query: ReportQuery,
	{ definition, calendar, asOfMs }: MadeOf,
): Promise<Report> {
	const { segment } = query;
	const warnings: string[] = [];
	const wanted = wantedTouch(query);
	const period = periodOf(query, calendar);
	const options: JourneyOptions = {
		asOfMs,
		period,
		isPast: query.asOf !== null,
		lookbackDays: query.lookbackDays,
		arrivalsBy: null,
		wanted,
		paymentProviders: new Set([...paymentProviders, ...account.paymentProviders]),
		gateways: noGateways,
		cancellationEvt: account.cancellationEvt,
	};
	const { include } = query;
	let gatewayVisitors = 0;
	const chosen = async <Chosen extends Journey>(all: readonly Chosen[]): Promise<readonly Chosen[]> => {
		const inPeriod = all.filter(({ subscription: { steps } }) =>
			steps.some(({ atMs }) => isIn(period, atMs)),
		);
		requireExactSums(
			inPeriod.flatMap(({ subscription: { steps } }) => steps.map(({ revenuePence }) => revenuePence)),
		);
		const events = all.map(({ subscription }) => subscription);
		warnings.push(...unknownNames({ events, paths: all.map(({ path }) => path) }, query));
		const matching = all.filter(
			({ subscription, path }) =>
				hasLabels(subscription, query) &&
				(wanted.length === 0 || path.some((touch) => isWanted(touch, wanted))),
		);
		return segment === null ? matching : source.inSegment(segment, matching);
	};
	const read = async (needsPaths: boolean, ofPeriod: Period): Promise<readonly Journey[]> => {
		const of = { ...options, period: ofPeriod };
		if (!needsPaths) return source.read(() => readSubscriptions(of));
		return (await source.read(() => readJourneys(of))).journeys;
	};
	const source: ReportSource = {
		account,
		control: store.control,
		store,
		query,
		asOfMs,
		calendar,
		period,
		read: (reading) => store.read(account.id, reading(options)),
		async journeys(needs = 'touches') {
			const arrivalsBy = needs === 'arrivals' ? query.by : null;
			const left = arrivalsBy ? await source.gateways() : noGateways;
			const read = await source.read(() => readJourneys({ ...options, arrivalsBy, gateways: left }));
			return { ...read, journeys: await chosen(read.journeys) };
		},
		async subscriptions() {
			return chosen(await read(wanted.length > 0, period));
		},
		coursesAt: (journeys, atMs) =>
			coursesOf(journeys, { ...account.renewalDays, ...query.period }, atMs, {
				graceDays: account.graceDays,
			}),
		async courses() {
			const all = await read(wanted.length > 0 || query.by.some(isOfTouches), allTime);
			return chosen(source.coursesAt(all, asOfMs));
		},
		async customers() {
			const cids = await store.read(account.id, customersOfSubscriptions(asOfMs));
			return (subid) => cids.get(subid);
		},
		async gateways() {
			const gateways = await gatewaysOf(store, account, { asOfMs, period, include });
			gatewayVisitors = gateways.size;
			return gateways;
		},
		history: () => historyReader(store, account, include),
		async inSegment(id, journeys) {
			const owners = new Set(journeys.map(({ subscription: { owner } }) => owner));
			const vids = [...owners].filter((vid) => vid !== null);
			const members = await segmentMembers(store, account, id, vids, options);
			return journeys.filter(({ subscription: { owner } }) => owner !== null && members.has(owner));
		},
	};
	const { gatewayVisitors: leftOut, ...made } = await definition.make(source);
	gatewayVisitors = leftOut ?? gatewayVisitors;
	const report = {
		aid: account.aid,
		from: query.from,
		to: query.to,
		asOf: new Date(asOfMs).toISOString(),
		timezone: calendar.timezone,
		currency: account.currency,
		...Object.fromEntries(filters.map((name) => [name, query[name]]).filter(([, value]) => value !== null)),
		...made,
		...(gatewayVisitors > 0 && {
			gatewayVisitors,
			notes: [...(made.notes ?? []), `${leftOutText(gatewayVisitors)} To count them, include gateways.`],
		}),
		...((made.warnings || warnings.length > 0) && { warnings: [...warnings, ...(made.warnings ?? [])] }),
	} as Report;
	return withWarnings(report, rateWarnings(tableOf(definition, report)));
}

/** @param more warnings, of which some may be there already */
function withWarnings(report: Report, more: readonly string[]): Report {
	if (more.length === 0) return report;
	return { ...report, warnings: [...new Set([...(report.warnings ?? []), ...more])] };
}

function periodOf({ from, to }: ReportQuery, calendar: Calendar): Period {
	const period = {
		fromMs: from === null ? Number.NEGATIVE_INFINITY : calendar.startOfDay(from),
		toMs: to === null ? Number.POSITIVE_INFINITY : calendar.startOfDay(to),
	};
	if (period.fromMs >= period.toMs)
		throw new OperatorError('to must be later than from, because the day itself is excluded.');
	return period;
}
