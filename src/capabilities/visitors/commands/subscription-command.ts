import { subscriptionStates } from '../../../core/domain/subscription-course.ts';
import { OperatorError } from '../../../core/errors.ts';
import { isoTime } from '../../../core/format/iso-time.ts';
import { moneyOf } from '../../../core/format/money.ts';
import { noteDone } from '../../../kit/cli/act-command.ts';
import { command, group, merged } from '../../../kit/cli/command.ts';
import { print, printLine, printRecord } from '../../../kit/cli/output.ts';
import { moment } from '../../../kit/config.ts';
import { visitorRecord } from '../../../kit/reading/visitor-record.ts';
import type { StartedJourney } from '../../../kit/reports/courses.ts';
import { renewalPeriods } from '../../../kit/reports/report-query.ts';
import { accountCourses, printTimeline } from './timeline-command.ts';

const asOfOption = [
	'--as-of <time>',
	'a past time in UTC, such as 2026-11-21 or 2026-11-21T10:30:00Z. Nothing later is used',
	moment,
] as const;
const periodOption = [
	'--period <evt=days...>',
	"days from one renewal to the next, such as newsletter=30 (default: the account's, else learned)",
	merged(renewalPeriods),
] as const;

const list = command('list', 'list subscriptions, by when they began')
	.option('--state <state>', 'only these', subscriptionStates)
	.option(
		'--evt <name>',
		'only subscriptions whose first event has this event type; refunds count only if there is nothing else',
	)
	.option(...asOfOption)
	.option(...periodOption)
	.onAccount(async (store, account, options) => {
		const { isStarted } = await import('../../../kit/reports/courses.ts');
		const all = (await accountCourses(store, account, options)).filter(isStarted).map(shownOf);
		const chosen = all.filter(
			({ state, evt }) => state === (options.state ?? state) && evt === (options.evt ?? evt),
		);
		print(options, chosen, 'No subscriptions.');
	});

const show = command('show', "show a subscription's events, with money and state, and how it came about")
	.description(
		`Print a subscription and, in order of time: the visits of its visitor, touches (with the share that each model credits them with), payments,
refunds and the state after each, scores and segments (by today's models and rules, not what pages were told).`,
	)
	.argument('<subid>', 'the subscription')
	.option(...asOfOption)
	.option(...periodOption)
	.onAccount(async (store, account, options, subid) => {
		const { isStarted } = await import('../../../kit/reports/courses.ts');
		const journeys = await accountCourses(store, account, options);
		const found = journeys.filter(isStarted).find(({ subscription }) => subscription.subid === subid);
		if (!found) throw new OperatorError(`Account ${account.aid} has no subscription ${subid}.`);
		const { timelineAbout } = await import('../visitor-life.ts');
		const { owner } = found.subscription;
		const record = owner === null ? null : await store.read(account.id, visitorRecord(owner));
		if (owner !== null) await noteDone(store, 'visitor viewed', account.aid, owner);
		const { timeline } = await timelineAbout(store, account, { record, journeys: [found] }, options.asOf);
		const shown = shownOf(found);
		if (options.json) return print(options, { ...shown, timeline });
		printRecord({ ...shown, recurringPence: moneyOf(account.currency)(shown.recurringPence) });
		printLine('');
		await printTimeline(timeline, account, false);
	});

export const subscriptionCommand = group(
	'subscription',
	'list and show subscriptions',
	`A subscription is all events of one subid. Until its first payment above zero it is a trial. It is active until the
time paid for is over, then at risk while a renewal may still come, and ended after that; reactivated if it is paid again.
One that is cancelled or refunded is cancelled until the time paid for is over, and then ended. How often it is paid is learned from the times between
its own payments, else from those of others with the same evt and price. See docs/reference/reports.md.`,
	[list, show],
);

function shownOf({ subscription: { subid, owner, evt }, payments, trial, course }: StartedJourney) {
	const { state, cadence, dueAtMs, cancelledAtMs, endedAtMs, hasEndedByWill, recurringPence } = course;
	return {
		subid,
		vid: owner,
		evt,
		state,
		cadenceDays: cadence && Math.round(cadence.days * 100) / 100,
		cadenceFrom: cadence?.from ?? null,
		trialAt: isoTime(trial?.payments[0]?.atMs ?? null),
		startedAt: isoTime(payments[0]?.atMs ?? null),
		dueAt: isoTime(dueAtMs),
		cancelledAt: isoTime(cancelledAtMs),
		endedAt: isoTime(endedAtMs),
		endedByWill: hasEndedByWill,
		recurringPence,
	};
}
