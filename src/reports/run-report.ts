import { hasLabels } from '../domain/subscription-event.ts';
import { OperatorError } from '../errors.ts';
import type { Store } from '../store/store.ts';
import { type Calendar, calendarOf } from './calendar.ts';
import { readCourses } from './courses.ts';
import type { Journey, Period } from './journey.ts';
import { isOfTouches } from './label.ts';
import { type JourneyOptions, readJourneys } from './read-journeys.ts';
import type { Report, ReportSource } from './report.ts';
import { filters, type ReportedAccount, type ReportQuery } from './report-query.ts';
import { reportOf } from './reports.ts';
import { segmentMembers } from './segment-members.ts';

/** Makes a report of an account as of one moment. */
export async function runReport(
	store: Store,
	account: ReportedAccount,
	query: ReportQuery,
	knownProviders: readonly string[],
): Promise<Report> {
	const calendar = calendarOf(query.timezone ?? account.timezone);
	const { segment } = query;
	const asOfMs = query.asOf ?? store.now();
	const period = periodOf(query, calendar);
	const options: JourneyOptions = {
		...{ asOfMs, period, isPast: query.asOf !== null, lookbackDays: query.lookbackDays, visitsBy: null },
		needsPaths: true,
		paymentProviders: new Set([...knownProviders, ...account.paymentProviders]),
	};
	const chosen = async <Chosen extends Journey>(all: readonly Chosen[]): Promise<readonly Chosen[]> => {
		const matching = all.filter((journey) => matchesQuery(journey, query));
		return segment === null ? matching : source.inSegment(segment, matching);
	};
	const source: ReportSource = {
		...{ account, control: store.control, query, asOfMs, calendar, period },
		read: (reading) => store.read(account.id, reading(options)),
		async journeys(withVisits = false) {
			const visitsBy = withVisits ? query.by : null;
			const read = await source.read(() => readJourneys({ ...options, visitsBy }));
			return { ...read, journeys: await chosen(read.journeys) };
		},
		async courses() {
			const needsPaths = query.channel !== null || query.by.some(isOfTouches);
			const setDays = { ...account.renewalDays, ...query.period };
			return chosen(await source.read(() => readCourses({ ...options, needsPaths }, setDays)));
		},
		async inSegment(id, journeys) {
			const owners = new Set(journeys.map(({ subscription: { owner } }) => owner));
			const vids = [...owners].filter((vid) => vid !== null);
			const members = await segmentMembers(store, account, id, vids, options);
			return journeys.filter(({ subscription: { owner } }) => owner !== null && members.has(owner));
		},
	};
	return {
		aid: account.aid,
		from: query.from,
		to: query.to,
		asOf: new Date(asOfMs).toISOString(),
		timezone: calendar.timezone,
		...Object.fromEntries(filters.map((name) => [name, query[name]]).filter(([, value]) => value !== null)),
		...(await reportOf(query.kind).make(source)),
	} as Report;
}

function matchesQuery({ subscription, path }: Journey, query: ReportQuery): boolean {
	return (
		hasLabels(subscription, query) &&
		(query.channel === null || path.some((touch) => touch.channel === query.channel))
	);
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
