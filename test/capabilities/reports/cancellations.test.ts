import assert from 'node:assert/strict';
import { test } from 'node:test';
import { updateAccount } from '../../../src/capabilities/accounts/acts/account-acts.ts';
import { describeMovement } from '../../../src/capabilities/reports/movement.ts';
import { projectionOf, Renewals } from '../../../src/capabilities/reports/projection.ts';
import { activeSubscriptions, scoredFor } from '../../../src/core/domain/active-subscriptions.ts';
import { visitorFacts } from '../../../src/core/domain/facts.ts';
import { goalDefaults, reachedOf } from '../../../src/core/domain/goal.ts';
import { type Profile, profileOf } from '../../../src/core/domain/profile.ts';
import { Cadences, emptyCadenceTable } from '../../../src/core/domain/subscription-cadence.ts';
import { subscriptionOf } from '../../../src/core/domain/subscription-steps.ts';
import { dayMs } from '../../../src/core/durations.ts';
import { runAct } from '../../../src/kit/act.ts';
import { Calendar } from '../../../src/kit/reports/calendar.ts';
import { type CoursedJourney, coursesOf, isPaid } from '../../../src/kit/reports/courses.ts';
import { reportText } from '../../../src/kit/reports/report-table.ts';
import { subscription } from '../../core/domain/log.ts';
import { enginesAboveContract, openAccountOn } from '../../core/store/engines.ts';
import { reportOf } from '../../reports.ts';
import { fill, report, sale } from './filled.ts';
import { day0Ms } from './made-up.ts';

const setDays = { newsletter: 30 };
const asOfDay = (day: number) => day0Ms + day * dayMs;

/** @param events what happened on which day; a goodbye is of no pence unless it says so */
function went(
	events: readonly (readonly [day: number, pence: number | 'goodbye', goodbyePence?: number])[],
	day: number,
	cancellationEvt: string | null = 'goodbye',
): CoursedJourney {
	const known = events
		.filter(([at]) => at <= day)
		.map(([at, pence, goodbyePence = 0]) => ({
			subid: 'A',
			evt: pence === 'goodbye' ? 'goodbye' : 'newsletter',
			atMs: asOfDay(at),
			revenuePence: pence === 'goodbye' ? goodbyePence : pence,
			shownAtMs: null,
		}));
	const journeys = [{ subscription: subscriptionOf(known, null, cancellationEvt), path: [] }];
	const [one] = coursesOf(journeys, setDays, asOfDay(day));
	return one as CoursedJourney;
}

const state = (...of: Parameters<typeof went>) => went(...of).course?.state;
/** The kinds of movements with their days, and whether an end was by choice. */
const moved = (...of: Parameters<typeof went>) =>
	went(...of).course?.movements.map(({ kind, atMs, isByWill }) =>
		[kind, (atMs - day0Ms) / dayMs, ...(isByWill === undefined ? [] : [isByWill])].join(' '),
	);

test('who cancels uses up what is paid, and is lost on the day that it is due, by choice', () => {
	const one = [
		[0, 500],
		[10, 'goodbye'],
	] as const;
	assert.equal(state(one, 9), 'active');
	assert.equal(state(one, 29), 'cancelled');
	assert.equal(went(one, 29).course?.recurringPence, went(one, 9).course?.recurringPence);
	assert.equal(state(one, 30), 'ended');
	assert.deepEqual(moved(one, 31), ['new 0', 'ended 30 true']);
	// Without a word, there is time to pay until day 45.
	assert.equal(state(one.slice(0, 1), 31), 'at risk');
	assert.deepEqual(moved(one.slice(0, 1), 45), ['new 0', 'ended 30 false']);
	assert.equal(went(one, 31).course?.hasEndedByWill, true);
	assert.equal(went(one, 31).course?.cancelledAtMs, asOfDay(10));
});

test('who pays again has taken it back, and has come back if it was over', () => {
	const before = [
		[0, 500],
		[10, 'goodbye'],
		[29, 500],
	] as const;
	assert.deepEqual(moved(before, 40), ['new 0']);
	assert.equal(state(before, 40), 'active');
	assert.equal(state(before, 60), 'at risk', 'and may be late again');
	const after = [
		[0, 500],
		[10, 'goodbye'],
		[35, 500],
	] as const;
	assert.deepEqual(moved(after, 40), ['new 0', 'ended 30 true', 'reactivated 35']);
	assert.deepEqual(went(after, 40).course?.recoveredAtMs, []);
	// A payment of the same day is one with the first: it is not lost between them.
	assert.equal(
		state(
			[
				[0, 500],
				[0.1, 'goodbye'],
				[0.2, 300],
			],
			20,
		),
		'active',
	);
});

test('who cancels while past due has left by choice at once, and who cancels after the end has ended before', () => {
	const late = [
		[0, 500],
		[40, 'goodbye'],
	] as const;
	assert.equal(state(late, 39), 'at risk');
	assert.deepEqual(moved(late, 40), ['new 0', 'ended 30 true']);
	const tooLate = [
		[0, 500],
		[60, 'goodbye'],
	] as const;
	assert.deepEqual(moved(tooLate, 70), ['new 0', 'ended 30 false']);
	assert.equal(went(tooLate, 70).course?.cancelledAtMs, null);
});

test('a refund of all, or of the unused share, is by choice; a part is not', () => {
	assert.deepEqual(
		moved(
			[
				[0, 500],
				[5, -500],
			],
			50,
		),
		['new 0', 'ended 5 true'],
	);
	assert.deepEqual(
		moved(
			[
				[0, 500],
				[15, -250],
			],
			50,
		),
		['new 0', 'ended 15 true'],
	);
	assert.deepEqual(
		moved(
			[
				[0, 500],
				[15, -100],
			],
			50,
		),
		['new 0', 'ended 30 false'],
	);
});

test('money makes it a payment or a refund, and without a name in the account nothing is a cancellation', () => {
	const kinds = (events: Parameters<typeof went>[0], cancellationEvt?: string | null) =>
		went(events, 90, cancellationEvt).subscription.steps.map(({ kind }) => kind);
	assert.deepEqual(
		kinds([
			[0, 500],
			[10, 'goodbye', 100],
			[20, 'goodbye', -50],
			[30, 'goodbye'],
		]),
		['acquisition', 'renewal', 'refund', 'cancellation'],
	);
	assert.deepEqual(
		kinds(
			[
				[0, 500],
				[10, 'goodbye'],
			],
			null,
		),
		['acquisition', 'renewal'],
	);
	assert.deepEqual(
		kinds([
			[0, 'goodbye'],
			[1, 0],
			[2, 500],
		]),
		['cancellation', 'trial', 'acquisition'],
	);
	assert.equal(
		went(
			[
				[0, 'goodbye'],
				[1, 500],
			],
			2,
		).subscription.evt,
		'newsletter',
	);
	assert.equal(went([[0, 'goodbye']], 2).course, null, 'nothing was ever paid');
});

test('a trial that is cancelled is not open any more, and ends in its time', () => {
	const trial = [
		[0, 0],
		[5, 'goodbye'],
	] as const;
	assert.equal(state(trial, 6), 'trial');
	assert.equal(state(trial, 30), 'trial ended');
	assert.equal(state(trial.slice(0, 1), 31), 'trial');
});

test('movement tells who left by choice, the month is known at once, and nothing more is expected', () => {
	const made = [
		...['a', 'b', 'c'].map((subid) => ({ subid, events: [0, 30, 60, 90].map((day) => [day, 500] as const) })),
		{
			subid: 'says so',
			events: [
				[0, 500],
				[30, 500],
				[40, 'goodbye'],
			] as const,
		},
		{ subid: 'stays away', events: [[0, 500]] as const },
		{
			subid: 'paid back',
			events: [
				[30, 500],
				[34, -500],
			] as const,
		},
		{
			subid: 'leaves',
			events: [
				[60, 500],
				[62, 'goodbye'],
			] as const,
		},
	];
	const coursesAt = (day: number) =>
		coursesOf(
			made.flatMap(({ subid, events }) => {
				const known = events.filter(([at]) => at <= day);
				if (known.length === 0) return [];
				const steps = known.map(([at, pence]) => ({
					subid,
					evt: pence === 'goodbye' ? pence : 'newsletter',
					atMs: asOfDay(at),
					revenuePence: pence === 'goodbye' ? 0 : pence,
					shownAtMs: null,
				}));
				return [{ subscription: subscriptionOf(steps, null, 'goodbye'), path: [] }];
			}),
			setDays,
			asOfDay(day),
		);
	const rowsAt = (day: number) => {
		const spans = new Calendar('UTC').spans('month', day0Ms, asOfDay(day));
		return describeMovement(coursesAt(day), { by: [], spans, asOfMs: asOfDay(day) }).map(({ row }) => row);
	};
	const [january, february, march] = rowsAt(89);
	assert.deepEqual([january?.subscriptions.cancelled, january?.subscriptions.lapsed], [0, 1]);
	// Who was paid back left on day 34, 4 February; who said so was due on day 60, 2 March.
	assert.deepEqual([february?.subscriptions.cancelled, february?.subscriptions.lapsed], [1, 0]);
	assert.deepEqual([march?.subscriptions.cancelled, march?.subscriptions.lapsed], [1, 0]);
	assert.deepEqual([march?.recurringPence.cancelled, march?.recurringPence.lapsed], [500, 0]);
	assert.deepEqual([march?.customers.cancelled, march?.customers.lapsed], [1, 0]);
	for (const row of rowsAt(130)) {
		assert.equal(row.subscriptions.cancelled + row.subscriptions.lapsed, row.subscriptions.ended);
		assert.equal(row.recurringPence.cancelled + row.recurringPence.lapsed, row.recurringPence.ended);
	}
	// Two days after it was due, it is known: without the word, it would be provisional.
	assert.equal(rowsAt(62)[2]?.provisional, null);
	const paid = coursesAt(89).filter(isPaid);
	const expectedOf = (subid: string) =>
		projectionOf(
			paid.filter(({ subscription: one }) => one.subid === subid),
			new Renewals(paid, asOfDay(89)),
			asOfDay(89),
		).pence;
	assert.equal(expectedOf('leaves'), 0);
	assert.ok(expectedOf('a') > 0);
});

test('a profile tells cancellations from renewals, whatever the account named when they came', () => {
	const log = [
		subscription(day0Ms, { tid: '1', subid: 'A', evt: 'newsletter', revenuePence: 500 }),
		subscription(asOfDay(10), { tid: '2', subid: 'A', evt: 'goodbye', revenuePence: 0 }),
	];
	const profile = profileOf(log) as Profile;
	const cadences = (cancellationEvt: string | null) =>
		new Cadences(emptyCadenceTable, setDays, {}, cancellationEvt);
	const goal = { name: 'renewal', evts: ['*'], ...goalDefaults, counts: 'renewal' } as const;
	const facts = (cancellationEvt: string | null, day: number) =>
		visitorFacts(profile, asOfDay(day), cadences(cancellationEvt));
	assert.deepEqual([facts('goodbye', 20).renewals, facts(null, 20).renewals], [0, 1]);
	assert.deepEqual(
		[facts('goodbye', 29).activeSubscriptions, facts('goodbye', 31).activeSubscriptions],
		[1, 0],
	);
	assert.equal(facts(null, 41).activeSubscriptions, 1, 'as if it had been paid for again');
	assert.equal(facts('goodbye', 31).evts.get('goodbye'), 1, 'rules can ask who has cancelled');
	assert.equal(activeSubscriptions(profile, asOfDay(20), cadences('goodbye'))[0]?.isCancelled, true);
	assert.equal(scoredFor(goal, profile, asOfDay(20), cadences('goodbye')), undefined);
	assert.ok(scoredFor(goal, profile, asOfDay(20), cadences(null))?.renewing);
	assert.equal(reachedOf(profile, goal, 'goodbye'), undefined);
	assert.equal(reachedOf(profile, goal, null)?.count, 1);
	assert.equal(reachedOf(profile, { evts: ['goodbye'], counts: 'any' }, 'goodbye')?.count, 1);
});

for (const engine of enginesAboveContract)
	test(`a cancellation is nothing that came in, from when the account names it, on ${engine.name}`, async () => {
		const { store } = await openAccountOn(engine);
		const id = await fill(store, 'c-a-cancellations', [
			sale('A-0', 'A', 0, 500),
			sale('A-30', 'A', 30, 500),
			sale('A-40', 'A', 40, 0, 'goodbye'),
			sale('B-0', 'B', 35, 0),
			sale('B-7', 'B', 42, 500),
		]);
		const cancellationEvt = 'goodbye';
		const period = { newsletter: 30 };
		const asked = (kind: string, evt: string | null, asOf = day0Ms + 45 * dayMs) =>
			report(store, id, kind, { asOf, period }, { cancellationEvt: evt });
		const totals = async (evt: string | null) => (await asked('activity', evt)).totals;
		const { trials, subscriptions, acquisitionPence, renewalPence } = (await totals('goodbye')) ?? {};
		assert.deepEqual([trials, subscriptions, acquisitionPence, renewalPence], [1, 2, 1000, 500]);
		assert.deepEqual(await totals('goodbye'), await totals(null), 'but for a renewal of nothing');
		const renewals = async (evt: string | null) =>
			(await asked('activity', evt)).rows.reduce((sum, row) => sum + Number(row.renewals), 0);
		assert.deepEqual([await renewals('goodbye'), await renewals(null)], [1, 2]);
		await runAct(
			updateAccount,
			'a test',
			{ store, account: await store.control.account('c-a-cancellations') },
			{ cancellationEvt, relabelAmounts: false },
		);
		assert.equal((await store.control.account('c-a-cancellations')).cancellationEvt, cancellationEvt);
		const listed = await asked('subscriptions', 'goodbye');
		assert.equal(listed.rows.find(({ subid }) => subid === 'A')?.state, 'cancelled');
		const summary = await asked('summary', 'goodbye', day0Ms + 61 * dayMs);
		const [now] = summary.rows;
		assert.deepEqual([now?.leftByWill, now?.lapsed, now?.cancelledSubscriptions], [1, 0, 0]);
		assert.match(reportText(reportOf('summary'), summary), /^c-a-acme-uk, as known on /);
		const [week] = (await asked('summary', 'goodbye')).rows;
		assert.equal(week?.cancelledSubscriptions, 1);
		const attributed = await asked('attribution', 'goodbye');
		assert.deepEqual([attributed.totals?.trials, attributed.totals?.subscriptions], [1, 2]);
	});
