import { liftReport } from '../../../src/capabilities/experiments/reports/lift.ts';
import { activityReport } from '../../../src/capabilities/reports/activity.ts';
import { attributionReport } from '../../../src/capabilities/reports/attribution.ts';
import { describeRenewals, renewalsReport } from '../../../src/capabilities/reports/renewals.ts';
import {
	retainedCohorts,
	retentionByAge,
	retentionReport,
} from '../../../src/capabilities/reports/retention.ts';
import { moneyOf } from '../../../src/core/format/money.ts';
import { seededRandom } from '../../../src/kit/random.ts';
import { Calendar } from '../../../src/kit/reports/calendar.ts';
import { begunIn, coursesOf, isPaid } from '../../../src/kit/reports/courses.ts';
import { ratio } from '../../../src/kit/reports/journey.ts';
import type { ReportDefinition } from '../../../src/kit/reports/report.ts';
import { poisson } from '../../../src/kit/reports/simulated.ts';
import { allTime } from './made-up.ts';
import { beginMs, simulate, trouble } from './simulated-business.ts';
import { looksOf, truthOf } from './simulated-experiments.ts';

/** What a report's sentence claims of an account whose truth is known. */
export interface Claim {
	readonly report: string;
	readonly answer: string;
	/** Left out where the sentence says that it is not sure. */
	readonly isTrue?: boolean;
}

interface Channel {
	readonly name: string;
	readonly visitors: number;
	/** Of its visitors, who subscribe, and of these, who leave each month. */
	readonly rate: number;
	readonly churn: number;
}

const days = 300;
const asOfMs = beginMs + days * 24 * 3600 * 1000;
const calendar = new Calendar('UTC');
const money = moneyOf('GBP');

const answerOf = (definition: ReportDefinition, report: object): string =>
	definition.answer({ asOf: '', rows: [], ...report } as never, money) ?? '';

/** In half of the accounts all channels are alike, so that whatever a sentence tells apart is chance; in the others some are. */
function channelsOf(random: () => number): Channel[] {
	const isAlike = random() < 0.5;
	const among = (values: readonly number[]) => values[Math.floor(random() * values.length)] as number;
	return Array.from({ length: 2 + Math.floor(random() * 6) }, (_, number) => ({
		name: `channel${number}`,
		visitors: Math.floor(20 * 100 ** random()),
		rate: isAlike ? 0.08 : among([0.02, 0.08, 0.08, 0.2]),
		churn: isAlike ? 0.15 : among([0.05, 0.15, 0.15, 0.4]),
	}));
}

/** What the sentences of an account say of its channels, of its last two months, and of an experiment. */
export function claimsOf(seed: number): Claim[] {
	const random = seededRandom(seed);
	const channels = channelsOf(random);
	const simulated = channels.map(({ name, visitors, rate, churn }) => {
		const subscriptions = Array.from({ length: visitors }, () => random() < rate).filter(Boolean).length;
		const plan = { name: 'monthly', months: 1, pence: 999, share: 1, churn: { [name]: churn } };
		const usual = { ...trouble, missing: 0, pause: 0, refund: 0 };
		return simulate([plan], usual, { subscriptions, days, random });
	});
	const journeys = coursesOf(simulated.flat(), {}, asOfMs);
	const by = ['channel'] as const;
	const rows = retainedCohorts(
		begunIn(journeys, allTime),
		{ by, asOfMs, calendar },
		24,
		journeys.filter(isPaid),
	);
	const credited = channels.map(({ name, visitors }, place) => {
		const subscriptions = simulated[place]?.length ?? 0;
		const conversionRate = ratio(subscriptions, visitors, 6);
		return { channel: name, visitors, models: { last: { subscriptions, netPence: 0, conversionRate } } };
	});
	credited.sort((a, b) => b.models.last.subscriptions - a.models.last.subscriptions);
	const subscriptions = simulated.flat().length;
	return [
		ofChannels(
			'attribution',
			answerOf(attributionReport, {
				rows: credited,
				models: ['last'],
				by,
				totals: { subscriptions, netPence: 1 },
			}),
			channels.map(({ name, rate }) => [name, rate]),
		),
		ofChannels(
			'retention',
			answerOf(retentionReport, { rows, all: retentionByAge(rows), by }),
			channels.map(({ name, churn }) => [name, 1 - churn]),
		),
		ofChannels(
			'renewals',
			answerOf(renewalsReport, { rows: describeRenewals(journeys, { by, period: allTime, asOfMs }), by }),
			channels.map(({ name, churn }) => [name, 1 - churn]),
		),
		ofChange(random),
		ofExperiment(random, seed),
	];
}

/** A tie is no truth: who is said to have more must have more than all others. */
function ofChannels(
	report: string,
	answer: string,
	truth: readonly (readonly [name: string, value: number])[],
): Claim {
	const values = new Map(truth);
	const of = (name = '') => values.get(name) ?? Number.NaN;
	const others = (name: string) => truth.filter(([other]) => other !== name).map(([, value]) => value);
	const told: boolean[] = [];
	for (const [, name = ''] of answer.matchAll(/highest for (channel\d+)/g))
		told.push(others(name).every((value) => value < of(name)));
	for (const [, name = ''] of answer.matchAll(/lowest for (channel\d+)/g))
		told.push(others(name).every((value) => value > of(name)));
	for (const [, more, less] of answer.matchAll(/higher for (channel\d+), .*, than for (channel\d+)/g))
		told.push(of(more) > of(less));
	return { report, answer, ...(told.length > 0 && { isTrue: told.every(Boolean) }) };
}

/** New subscriptions of two equal times, at a steady rate in half of the accounts. */
function ofChange(random: () => number): Claim {
	const before = 3 + 200 * random();
	const now = random() < 0.5 ? before : before * (0.4 + 1.6 * random());
	const totals = (mean: number) => ({ subscriptions: poisson(mean, random), netPence: 0 });
	const answer = answerOf(activityReport, {
		rows: [{}],
		totals: totals(now),
		compared: { totals: totals(before), from: '2026-01-01', to: '2026-02-01' },
	});
	const isTold = answer.includes('more than chance explains');
	return { report: 'activity', answer, ...(isTold && { isTrue: now !== before }) };
}

function ofExperiment(random: () => number, seed: number): Claim {
	const relativeLift = random() < 0.5 ? 0 : 0.6 * random() - 0.3;
	const setting = {
		holdoutShare: 0.5,
		visitorsADay: 40,
		days: 60,
		relativeLift,
		outcome: 'conversion' as const,
	};
	const conversionRate = looksOf(setting, seed).at(-1);
	const none = { difference: null, anytimeLow: null, anytimeHigh: null };
	const group = { visitors: 1200, waiting: 0 };
	const answer = answerOf(liftReport, {
		experiment: 'welcome',
		goal: 'subscription',
		holdoutPercent: 50,
		isOver: true,
		groups: { treated: group, holdout: group },
		lift: { conversionRate, netPencePerVisitor: none },
	});
	const truth = truthOf(setting);
	const isTrue = answer.includes('worked:') ? truth > 0 : answer.includes('harm:') ? truth < 0 : undefined;
	return { report: 'lift', answer, ...(isTrue !== undefined && { isTrue }) };
}
