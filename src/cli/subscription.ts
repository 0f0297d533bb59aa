import { Option } from 'commander';
import { refusing } from '../config.ts';
import { type SubscriptionState, subscriptionStates } from '../domain/subscription-course.ts';
import { OperatorError } from '../errors.ts';
import { isoTime } from '../format/iso-time.ts';
import { moneyOf } from '../format/money.ts';
import { pastMoment } from '../format/values.ts';
import type { PaidJourney, RenewalDays } from '../reports/courses.ts';
import { renewalPeriods } from '../reports/report-query.ts';
import { visitorRecord } from '../store/account/reading/visitor-record.ts';
import { aidArgument } from './aid-argument.ts';
import { Command } from './command.ts';
import { type CommonOptions, print, printJson, printLine, printRecord, withAccount } from './output.ts';
import { accountCourses, printTimeline } from './timeline.ts';

interface SubscriptionOptions extends CommonOptions {
	readonly asOf?: number;
	readonly period?: RenewalDays;
}

export function subscriptionCommand(): Command {
	const command = new Command('subscription').summary('list and show subscriptions').description(
		`A subscription is all events of one subid. It is active until what was paid is over, then at risk while a renewal
may still come, and ended after that; reactivated if it is paid again. How often it is paid is learned from the times between
its own payments, else from those of others with the same evt and price. See docs/reports.md.`,
	);
	const list = command
		.command('list')
		.description('list subscriptions, by when they began')
		.addArgument(aidArgument())
		.addOption(new Option('--state <state>', 'only these').choices(subscriptionStates))
		.option('--evt <name>', 'only subscriptions whose acquisition has this event type');
	addOptions(list).action(printList);
	const show = command
		.command('show')
		.summary("show a subscription's events, with money and state, and how it came about")
		.description(
			`Print a subscription, and in order of time: the visits of its visitor, touches with each model's share of it, what was
paid, paid back, and what it was then, and the changes of segments, bands and goals that webhooks were told.
docs/reports.md says what of this is not kept.`,
		)
		.addArgument(aidArgument())
		.argument('<subid>', 'the subscription');
	addOptions(show).action(printOne);
	return command;
}

function addOptions(command: Command): Command {
	return command
		.addOption(
			new Option(
				'--as-of <time>',
				'a past time in UTC, such as 2026-11-21 or 2026-11-21T10:30:00Z. Nothing later is used',
			).argParser(refusing((value) => pastMoment(value, Date.now()))),
		)
		.addOption(
			new Option(
				'--period <evt=days...>',
				"days from one renewal to the next, such as newsletter=30 (default: the account's, else learned)",
			).argParser((value: string, earlier: RenewalDays = {}) => ({
				...earlier,
				...refusing(renewalPeriods)(value),
			})),
		)
		.addCommonOptions();
}

function shownOf({ subscription: { subid, owner, evt }, payments, course }: PaidJourney) {
	const { state, cadence, dueAtMs, endedAtMs, recurringPence } = course;
	return {
		subid,
		vid: owner,
		evt,
		state,
		cadenceDays: cadence && Math.round(cadence.days * 100) / 100,
		cadenceFrom: cadence?.from ?? null,
		startedAt: isoTime(payments[0]?.atMs as number),
		dueAt: isoTime(dueAtMs),
		endedAt: isoTime(endedAtMs),
		recurringPence,
	};
}

async function printList(
	aid: string,
	options: SubscriptionOptions & { readonly state?: SubscriptionState; readonly evt?: string },
): Promise<void> {
	const { isPaid } = await import('../reports/courses.ts');
	const all = await withAccount(options, aid, async (store, account) => {
		return (await accountCourses(store, account, options)).filter(isPaid).map(shownOf);
	});
	const chosen = all.filter(
		({ state, evt }) => state === (options.state ?? state) && evt === (options.evt ?? evt),
	);
	print(options, chosen, 'No subscriptions.');
}

async function printOne(aid: string, subid: string, options: SubscriptionOptions): Promise<void> {
	const { isPaid } = await import('../reports/courses.ts');
	await withAccount(options, aid, async (store, account) => {
		const journeys = await accountCourses(store, account, options);
		const found = journeys.filter(isPaid).find(({ subscription }) => subscription.subid === subid);
		if (!found) throw new OperatorError(`Account ${aid} has no subscription ${subid}.`);
		const { timelineAbout } = await import('../reports/visitor-life.ts');
		const { owner } = found.subscription;
		const record = owner === null ? null : await store.read(account.id, visitorRecord(owner));
		const { timeline } = await timelineAbout(store, account, { record, journeys: [found] }, options.asOf);
		const shown = shownOf(found);
		if (options.json) return printJson({ ...shown, timeline });
		printRecord({ ...shown, recurringPence: moneyOf(account.currency)(shown.recurringPence) });
		printLine('');
		await printTimeline(timeline, account, false);
	});
}
