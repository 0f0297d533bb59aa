import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import fc from 'fast-check';
import { openStore } from '../../../src/assembly/open-store.ts';
import { updateAccount } from '../../../src/capabilities/accounts/acts/account-acts.ts';
import { checkDays, graceMs, keepDays } from '../../../src/capabilities/reports/day-figures.ts';
import { prune, pruneKept } from '../../../src/capabilities/upkeep/store/pruning.ts';
import { eraseVisitor } from '../../../src/capabilities/visitors/store/erasure.ts';
import { rebuildAll } from '../../../src/capabilities/visitors/store/rebuilding.ts';
import { dayMs, minuteMs } from '../../../src/core/durations.ts';
import { foldAll } from '../../../src/core/store/fold-all.ts';
import { News } from '../../../src/core/store/news.ts';
import type { OpenStore } from '../../../src/core/store/store.ts';
import { runAct } from '../../../src/kit/act.ts';
import { calendarOf } from '../../../src/kit/reports/calendar.ts';
import { addAccount, type Engine, engines } from '../../core/store/engines.ts';
import { body } from '../../core/store/made-hits.ts';
import { changeRows, rowsIn } from '../../core/store/rows.ts';
import { eventually } from '../../eventually.ts';
import { examples } from '../../quick.ts';
import { add, type Entry, report, sale, vidOf, visit } from './filled.ts';
import { day0Ms } from './made-up.ts';

/** All their days begin at other quarter-hours, and some are 23 and 25 hours long. */
const zones = ['UTC', 'Europe/London', 'Asia/Kathmandu', 'America/St_Johns', 'Pacific/Apia'];

async function open(t: TestContext, engine: Engine) {
	const clock = { ms: day0Ms + 16 * dayMs };
	const store = await openStore(await engine.installedAddress(t), { now: () => clock.ms });
	t.after(() => store.close());
	return { clock, store };
}

/** As the background does, twice. */
async function keepAll(store: OpenStore, clock: { ms: number }, id: number): Promise<void> {
	await keepDays(store, { id, cancellationEvt: null });
	clock.ms += graceMs;
	await keepDays(store, { id, cancellationEvt: null });
}

const keptRows = async (store: OpenStore, id: number) =>
	(await rowsIn(store, id, 'kept_day')).filter(({ figures }) => figures !== null);

/** What came in by day, counted from what is stored, by nothing but loops. */
async function countedByDay(store: OpenStore, id: number, timezone: string, asOfMs: number) {
	const calendar = calendarOf(timezone);
	const days = new Map<string, Record<string, number>>();
	const of = (ms: number) =>
		days.getOrInsertComputed(calendar.dayOf(ms), () =>
			Object.fromEntries(
				[
					...['hits', 'arrivals', 'trials', 'subscriptions', 'renewals', 'refunds'],
					...['acquisitionPence', 'renewalPence', 'refundPence', 'netPence'],
				].map((name) => [name, 0]),
			),
		);
	const count = (ms: number, name: string, number = 1) => {
		if (ms <= asOfMs) (of(ms)[name] as number) += number;
	};
	for (const { at } of await rowsIn(store, id, 'hit')) count(Number(at), 'hits');
	const last = new Map<unknown, { at: number; origin: unknown }>();
	const touches = (await rowsIn(store, id, 'touch')).sort((a, b) => Number(a.at) - Number(b.at));
	for (const { vid, origin, ...row } of touches) {
		const at = Number(row.at);
		const before = last.get(vid);
		last.set(vid, { at, origin });
		if (before && before.origin === origin && at - before.at < 30 * minuteMs) continue;
		const [, source, medium, campaign] = JSON.parse(String(origin));
		if (source !== 'pay.google.com' || medium !== null || campaign !== null) count(at, 'arrivals');
	}
	const events = (await rowsIn(store, id, 'subscription_event'))
		.map(({ id, subid, rvn, received_at }) => ({ id, subid, rvn: Number(rvn), atMs: Number(received_at) }))
		.sort((a, b) => a.atMs - b.atMs || b.rvn - a.rvn || Number(a.id) - Number(b.id));
	const [begun, acquired] = [new Set<unknown>(), new Set<unknown>()];
	for (const { subid, rvn, atMs } of events) {
		if (rvn < 0) {
			count(atMs, 'refunds');
			count(atMs, 'refundPence', rvn);
		} else if (rvn === 0 && !begun.has(subid)) count(atMs, 'trials');
		else if (rvn === 0 || acquired.has(subid)) {
			count(atMs, 'renewals');
			count(atMs, 'renewalPence', rvn);
		} else {
			acquired.add(subid);
			count(atMs, 'subscriptions');
			count(atMs, 'acquisitionPence', rvn);
		}
		if (rvn >= 0) begun.add(subid);
		count(atMs, 'netPence', rvn);
	}
	return days;
}

async function compare(store: OpenStore, id: number, asOfMs: number): Promise<void> {
	for (const timezone of zones) {
		const counted = await countedByDay(store, id, timezone, asOfMs);
		const { rows } = await report(store, id, 'activity', { timezone, asOf: asOfMs, every: 'day' });
		const isSome = ([, row]: readonly [string, object]) => Object.values(row).some((value) => value !== 0);
		assert.deepEqual(
			rows.map(({ day, part: _, ...row }) => [String(day), row] as const).filter(isSome),
			[...counted].sort(([a], [b]) => (a < b ? -1 : 1)).filter(isSome),
			timezone,
		);
	}
}

const minutes = fc.integer({ min: 0, max: 12 * 1440 });
/** Some around a midnight, where a page that is loaded again may be loaded on another day. */
const hitMinutes = fc.oneof(minutes, fc.integer({ min: 6 * 1440 - 20, max: 6 * 1440 + 20 }));
const hits = fc.record({
	type: fc.constant('hit' as const),
	visitor: fc.integer({ min: 1, max: 4 }),
	minute: hitMinutes,
	/** The page is loaded again after so many minutes. */
	again: fc.option(fc.integer({ min: 1, max: 40 })),
	channel: fc.constantFrom('email', 'direct', 'paid', 'internal', 'referral'),
	referrer: fc.constantFrom(null, 'https://pay.google.com/', 'https://news.example/'),
	tid: fc.option(fc.nat(7)),
});
const events = fc.record({
	type: fc.constant('event' as const),
	tid: fc.nat(7),
	minute: minutes,
	rvn: fc.oneof(fc.integer({ min: -500, max: 1500 }), fc.constant(0)),
});
const others = fc.oneof(
	fc.record({ type: fc.constant('erase' as const), visitor: fc.integer({ min: 1, max: 4 }) }),
	fc.record({ type: fc.constant('prune' as const), minute: minutes, keepTouches: fc.boolean() }),
	fc.record({ type: fc.constant('prune kept' as const), minute: minutes }),
	fc.record({ type: fc.constant('keep' as const) }),
	fc.record({ type: fc.constant('rebuild' as const) }),
);
const histories = fc.array(
	fc.oneof(
		{ weight: 5, arbitrary: hits },
		{ weight: 3, arbitrary: events },
		{ weight: 3, arbitrary: others },
	),
	{ minLength: 6, maxLength: 24 },
);

for (const engine of engines) {
	test(`${engine.name}: what is kept of days equals what is stored, whatever happens to the past`, async (t) => {
		const { store, clock } = await open(t, engine);
		let run = 0;
		await fc.assert(
			fc.asyncProperty(histories, minutes, async (history, minute) => {
				const id = await addAccount(store, `c-a-kept-${run++}`);
				for (const step of history) {
					const atMs = 'minute' in step ? day0Ms + step.minute * minuteMs : 0;
					if (step.type === 'hit') {
						const { visitor, again, channel, referrer, tid } = step;
						const shown = tid === null ? [] : [{ name: 'order', tid: `T-${tid}` }];
						const hit: Entry = {
							type: 'hit',
							vid: vidOf(visitor),
							sid: null,
							atMs,
							body: body({ channel, referrer, events: shown }),
						};
						await add(store, id, [
							hit,
							...(again === null ? [] : [{ ...hit, atMs: atMs + again * minuteMs }]),
						]);
					} else if (step.type === 'event') {
						const { tid, rvn } = step;
						await add(store, id, [sale(`T-${tid}`, `S-${tid % 3}`, step.minute / 1440, rvn)]);
					} else if (step.type === 'erase')
						await eraseVisitor(store, id, vidOf(step.visitor)).catch((error) => {
							if (!/no visitor|not known|unknown/i.test(String(error))) throw error;
						});
					else if (step.type === 'prune') await store.transact(id, () => prune(atMs, step.keepTouches));
					else if (step.type === 'prune kept') await store.transact(id, () => pruneKept(atMs));
					else if (step.type === 'keep') await keepAll(store, clock, id);
					else await rebuildAll(store, id);
					await foldAll(store, id);
				}
				await compare(store, id, clock.ms);
				await compare(store, id, day0Ms + minute * minuteMs);
				await keepAll(store, clock, id);
				await compare(store, id, clock.ms);
				for await (const check of checkDays(store)) assert.ok(check.ok, check.detail);
			}),
			{ numRuns: examples(12) },
		);
	});

	test(`${engine.name}: a visit before the first hit that is left counts where its touch is kept`, async (t) => {
		const { store, clock } = await open(t, engine);
		const id = await addAccount(store, 'c-a-acme-uk');
		await add(store, id, [visit(1, 1, 'A'), sale('A', 'S-1', 4, 500)]);
		await foldAll(store, id);
		await store.transact(id, () => prune(day0Ms + 2 * dayMs, true));
		assert.equal((await rowsIn(store, id, 'touch')).length, 1);
		await compare(store, id, clock.ms);
		await compare(store, id, day0Ms + 3 * dayMs);
	});

	test(`${engine.name}: days are counted anew once the account names another cancellation`, async (t) => {
		const { store, clock } = await open(t, engine);
		const id = await addAccount(store, 'c-a-acme-uk');
		await add(store, id, [sale('A', 'S-1', 1.5, 500), sale('B', 'S-1', 2.5, 0, 'goodbye')]);
		await keepAll(store, clock, id);
		assert.ok((await keptRows(store, id)).length > 0);
		const renewals = async (cancellationEvt: string | null) => {
			const { rows } = await report(store, id, 'activity', { asOf: null, every: 'day' }, { cancellationEvt });
			return rows.reduce((sum, row) => sum + Number(row.renewals), 0);
		};
		assert.deepEqual([await renewals(null), await renewals('goodbye')], [1, 0]);
		const news = new News(store);
		const named = async () => (await news.among([id])).length > 0;
		await eventually('nothing is new', async () => {
			if (await named()) news.done(id);
			return !(await named());
		});
		await runAct(
			updateAccount,
			'a test',
			{ store, account: await store.control.account('c-a-acme-uk') },
			{ cancellationEvt: 'goodbye', relabelAmounts: false },
		);
		assert.deepEqual(await keptRows(store, id), []);
		// They are not left until something arrives.
		await eventually('the account is visited again', named);
		const account = await store.control.account('c-a-acme-uk');
		await keepDays(store, account);
		clock.ms += graceMs;
		await keepDays(store, account);
		assert.ok((await keptRows(store, id)).length > 0);
		assert.equal(await renewals('goodbye'), 0);
		for await (const { ok } of checkDays(store)) assert.ok(ok);
		// The same setting again forgets nothing.
		await runAct(
			updateAccount,
			'a test',
			{ store, account: await store.control.account('c-a-acme-uk') },
			{ cancellationEvt: 'goodbye', relabelAmounts: false },
		);
		assert.ok((await keptRows(store, id)).length > 0);
	});

	test(`${engine.name}: a day is kept once it has been over for an hour, was asked for, and has not changed since`, async (t) => {
		const { store, clock } = await open(t, engine);
		const id = await addAccount(store, 'c-a-acme-uk');
		await add(store, id, [visit(1, 10.5, 'A'), sale('A', 'S-1', 11.5, 500), visit(2, 12.5, null)]);
		clock.ms = day0Ms + 13 * dayMs + 59 * minuteMs;
		assert.equal(await keepDays(store, { id, cancellationEvt: null }), true, 'days are asked for');
		assert.deepEqual(await keptRows(store, id), []);
		assert.equal(await keepDays(store, { id, cancellationEvt: null }), true, 'too soon');
		assert.deepEqual(await keptRows(store, id), []);
		await add(store, id, [visit(3, 11.25, null)]);
		clock.ms += graceMs;
		assert.equal(
			await keepDays(store, { id, cancellationEvt: null }),
			true,
			'two days are asked for: one has changed, one is over now',
		);
		assert.deepEqual(
			(await keptRows(store, id)).map(({ day }) => day),
			['2026-01-11'],
		);
		clock.ms += graceMs;
		assert.equal(await keepDays(store, { id, cancellationEvt: null }), false);
		assert.deepEqual(
			(await keptRows(store, id)).map(({ day }) => day),
			['2026-01-11', '2026-01-12', '2026-01-13'],
		);
		// A sale before the first makes that a renewal, two days later.
		await add(store, id, [sale('B', 'S-1', 10.5, 500)]);
		assert.deepEqual(
			(await keptRows(store, id)).map(({ day }) => day),
			['2026-01-13'],
		);
	});

	test(`${engine.name}: figures that do not follow from the log are found by doctor, and made anew by a rebuild`, async (t) => {
		const { store, clock } = await open(t, engine);
		const id = await addAccount(store, 'c-a-acme-uk');
		await add(store, id, [visit(1, 10.5, 'A'), sale('A', 'S-1', 11.5, 500)]);
		await keepAll(store, clock, id);
		const checks = () => Array.fromAsync(checkDays(store));
		assert.deepEqual(
			(await checks()).map(({ check, ok }) => [check, ok]),
			[['days of c-a-acme-uk', true]],
		);
		const day = '2026-01-12';
		const kept = (await rowsIn(store, id, 'kept_day')).find((row) => row.day === day);
		const figures = String(kept?.figures).replaceAll('500', '600');
		await changeRows(store, id, 'kept_day', { figures }, { day });
		const [check] = await checks();
		assert.equal(check?.ok, false);
		assert.match(check?.detail ?? '', /1 of \d+ days, such as 2026-01-12, .*visitor rebuild c-a-acme-uk/);
		await rebuildAll(store, id);
		assert.deepEqual(await checks(), []);
		await keepAll(store, clock, id);
		assert.equal((await checks())[0]?.ok, true);
		const { rows } = await report(store, id, 'activity', { from: '2026-01-12', to: '2026-01-13' });
		assert.equal(rows[0]?.netPence, 500);
	});
}

for (const engine of engines) {
	test(`${engine.name}: what was kept while the clock was ahead is thrown away`, async (t) => {
		const { store, clock } = await open(t, engine);
		const id = await addAccount(store, 'c-a-ahead');
		await add(store, id, [visit(1, 14, null), visit(1, 16, null)]);
		await keepAll(store, clock, id);
		const right = (await keptRows(store, id)).map(({ day }) => day);
		clock.ms += dayMs;
		await keepAll(store, clock, id);
		assert.equal((await keptRows(store, id)).length, right.length + 1, 'the day is over, by this clock');
		clock.ms -= dayMs;
		await keepDays(store, { id, cancellationEvt: null });
		assert.deepEqual(
			(await keptRows(store, id)).map(({ day }) => day),
			right,
		);
	});
}
