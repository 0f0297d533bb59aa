import { Option } from 'commander';
import { Command, refusing } from '../config.ts';
import { type SubscriptionState, subscriptionStates } from '../domain/subscription-course.ts';
import { OperatorError } from '../errors.ts';
import { isoTime } from '../format/iso-time.ts';
import { pastMoment } from '../format/values.ts';
import type { PaidJourney, RenewalDays } from '../reports/courses.ts';
import { renewalPeriods } from '../reports/report-query.ts';
import { aidArgument } from './aid-argument.ts';
import { type CommonOptions, printJson, printLine, printRecord, printTable, withStore } from './output.ts';

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
		.summary("show a subscription's events, with money and state")
		.description(
			'Print a subscription, and its events in order: what was paid, paid back, and what it was then.',
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

/** All subscriptions, as programs get them and with what they are made of. */
async function subscriptionsOf(aid: string, options: SubscriptionOptions) {
	return withStore(options, async (store) => {
		const { isPaid, readCourses } = await import('../reports/courses.ts');
		const { id, renewalDays } = await store.control.account(aid);
		const reading = readCourses(
			{
				...{ asOfMs: options.asOf ?? store.now(), isPast: options.asOf !== undefined },
				...{ needsPaths: false, lookbackDays: 0, paymentProviders: new Set() },
			},
			{ ...renewalDays, ...options.period },
		);
		const journeys = await store.read(id, reading);
		return journeys.filter(isPaid).map((journey) => ({ journey, shown: shownOf(journey) }));
	});
}

function shownOf({ subscription: { subid, owner, evt }, payments, course }: PaidJourney) {
	const { state, cadence, dueAtMs, endedAtMs, recurringPence } = course;
	return {
		...{ subid, vid: owner, evt, state },
		cadenceDays: cadence && Math.round(cadence.days * 100) / 100,
		cadenceFrom: cadence?.from ?? null,
		startedAt: isoTime(payments[0]?.atMs as number),
		...{ dueAt: isoTime(dueAtMs), endedAt: isoTime(endedAtMs), recurringPence },
	};
}

async function printList(
	aid: string,
	options: SubscriptionOptions & { readonly state?: SubscriptionState; readonly evt?: string },
): Promise<void> {
	const all = (await subscriptionsOf(aid, options)).map(({ shown }) => shown);
	const chosen = all.filter(
		({ state, evt }) => state === (options.state ?? state) && evt === (options.evt ?? evt),
	);
	if (options.json) printJson(chosen);
	else printTable(chosen, 'No subscriptions.');
}

async function printOne(aid: string, subid: string, options: SubscriptionOptions): Promise<void> {
	const found = (await subscriptionsOf(aid, options)).find(({ shown }) => shown.subid === subid);
	if (!found) throw new OperatorError(`Account ${aid} has no subscription ${subid}.`);
	const timeline = timelineOf(found.journey);
	if (options.json) return printJson({ ...found.shown, timeline });
	printRecord(found.shown);
	printLine('');
	printTable(timeline, '');
}

/** What happened to a subscription, and what it was after that. */
function timelineOf({ subscription: { steps }, course }: PaidJourney) {
	const { movements, state, dueAtMs } = course;
	const happened = new Set(steps.map(({ atMs }) => atMs));
	const silent = (what: 'ended' | 'due', atMs: number) =>
		happened.has(atMs) ? [] : [{ atMs, what, evt: null, revenuePence: null }];
	const entries = [
		...steps.map(({ kind: what, atMs, evt, revenuePence }) => ({ atMs, what, evt, revenuePence })),
		...movements.flatMap(({ kind, atMs }) => (kind === 'ended' ? silent(kind, atMs) : [])),
		...(state === 'at risk' ? silent('due', dueAtMs as number) : []),
	];
	return entries
		.sort((a, b) => a.atMs - b.atMs)
		.map(({ atMs, ...entry }) => {
			const before = movements.filter((movement) => movement.atMs <= atMs);
			const hadEnded = before.some(({ kind }) => kind === 'reactivated');
			const isOver = before.at(-1)?.kind === 'ended';
			const stateThen = isOver
				? 'ended'
				: entry.what === 'due'
					? 'at risk'
					: hadEnded
						? 'reactivated'
						: 'active';
			return {
				...{ at: isoTime(atMs), ...entry, state: stateThen },
				recurringPence: before.at(-1)?.recurringPence ?? 0,
			};
		});
}
