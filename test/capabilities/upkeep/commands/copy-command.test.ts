import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { openStore } from '../../../../src/assembly/open-store.ts';
import { copyStore } from '../../../../src/capabilities/upkeep/store/copy.ts';
import type { CopyTarget } from '../../../../src/capabilities/upkeep/store/copy-target.ts';
import { openCopyTarget } from '../../../../src/capabilities/upkeep/store/open-copy-target.ts';
import { prune } from '../../../../src/capabilities/upkeep/store/pruning.ts';
import { eraseVisitor } from '../../../../src/capabilities/visitors/store/erasure.ts';
import { insertMessages } from '../../../../src/capabilities/webhooks/store/outbox.ts';
import { storeHits } from '../../../../src/core/store/account/arriving/hits.ts';
import { tableRows } from '../../../../src/core/store/account/reading/rows.ts';
import type { OpenStore } from '../../../../src/core/store/store.ts';
import { assertAsTheLogSays } from '../../../core/store/contract/visitors.ts';
import { engines, openFor, receivedAtMs, storedEvents } from '../../../core/store/engines.ts';
import { derived, hit } from '../../../core/store/made-hits.ts';
import { eventCounter, plannedEvents, schemasAt } from '../../../core/store/other-program.ts';
import { addRow } from '../../../core/store/rows.ts';
import {
	assertRefused,
	caskade,
	caskadeJson,
	caskadeWithin,
	mainPath,
	TestProcess,
} from '../../../process.ts';
import { takesLong } from '../../../quick.ts';
import { serveHere } from '../../../serve-here.ts';
import { addClient, event, temporaryFolder } from '../../../support.ts';

interface Source {
	readonly store: OpenStore;
	readonly key: string;
	readonly aids: readonly string[];
}

const oddTexts = ['plain', 'Ünïcödé 漢字 🚀', '"quotes" \'and\' \\', ' spaces ', '%_;--'];

/**
 * Two clients, an account that is disabled, a revoked key, a changed plan, usage, what is needed to score, and so many
 * events and some visitors in two accounts.
 */
async function fill(
	store: OpenStore,
	eventsPerAccount: number,
	ofTheOther = eventsPerAccount,
): Promise<Source> {
	const { key, keyId, aid } = await addClient(store);
	const other = await addClient(store, { client: 'other' });
	await store.control.createAccount({ aid: 'c-a-empty', client: 'acme', origins: ['https://x.test'] }, (id) =>
		store.createAccountDatabase(id),
	);
	await store.control.setAccountDisabled('c-a-empty', true);
	await store.control.revokeKey(other.keyId);
	const named = await store.control.issueKey('acme', 'standard', {
		name: 'Nightly',
		expiresInMs: 86_400_000,
	});
	await store.control.updatePlan({ ...(await store.control.plan('standard')), ratePerSecond: 0.5 });
	await recordUsage(store, keyId, named.id);
	await setUpScoring(store, aid);
	for (const account of await store.control.accounts())
		if (account.aid !== 'c-a-empty') {
			await addEvents(store, account.id, account.aid === aid ? eventsPerAccount : ofTheOther);
			await addVisitors(store, account.id);
		}
	return { store, key, aids: [aid, other.aid, 'c-a-empty'] };
}

async function setUpScoring(store: OpenStore, aid: string): Promise<void> {
	const { control } = store;
	const { id } = await control.updateAccount(aid, {
		explains: true,
		renewalDays: { gift: 365 },
		graceDays: { gift: 21 },
		cancellationEvt: 'goodbye',
		currency: 'EUR',
		channelRules: [{ channel: 'partner', pattern: 'utm_source=ours' }],
	});
	await control.importSecret(id);
	await control.ensureSigningKeys();
	await control.rotateSigningKeys();
	await control.revokeCasks(id, ['0'.repeat(32)]);
	const goal = {
		name: 'trial',
		evts: oddTexts,
		counts: 'renewal' as const,
		horizonDays: 0.5,
		mediumFrom: 40.5,
		highFrom: 99,
	};
	await control.createGoal(id, goal);
	await control.createSegment(id, { id: 'keen', name: oddTexts.join(), rule: 'visitor.hits > 3' });
	const model = { goal: goal.name, scope: 'vid', body: '{"weights":[0.1]}', report: '{}' } as const;
	await control.activateModel(id, await control.insertModel(id, model));
	await setUpWebhook(store, id);
	await addPerson(store, aid);
}

/** Somebody with all that proves a person, roles on an account and on all, and something that they did. */
async function addPerson({ control }: OpenStore, aid: string): Promise<void> {
	const { id } = await control.people.create('ada@example.com', [
		{ aid, role: 'operator' },
		{ aid: null, role: 'viewer' },
	]);
	await control.people.setPassword(id, oddTexts.join());
	await control.people.offerSecondFactor(id, 'GEZDGNBVGY3TQOJQ');
	await control.people.useStep(id, 58_000_000);
	await control.people.setRecoveryCodes(id, ['one', 'two']);
	await control.people.setIdentity(id, { issuer: 'https://id.example', subject: '42' });
	await control.sessions.begin(id, { hash: 'a', method: 'sso', agent: '' });
	await control.audit.add({ who: 'ada@example.com', action: 'visitor viewed', aid, about: '0'.repeat(32) });
}

/** A webhook whose secret was rotated, and rows of each of its tables. */
async function setUpWebhook(store: OpenStore, accountId: number): Promise<void> {
	const { id } = await store.control.createWebhook(accountId, {
		url: 'https://crm.example/?q="Ü"',
		events: ['segment.left'],
		withCid: true,
		allowPrivate: false,
	});
	await store.control.rotateWebhookSecret(accountId, id);
	await store.control.setWebhookFailing(id, 1);
	await store.control.createExperiment(accountId, {
		name: 'offer',
		segment: 'new',
		rule: 'true',
		goal: 'subscription',
		holdoutPercent: 12.5,
		fromMs: 1,
		toMs: null,
	});
	await store.transact(accountId, function* () {
		const message = { webhook: id, sequence: 2 ** 52, type: 'segment.left', vid: 'v', body: '{}' } as const;
		yield [insertMessages([message, { ...message, webhook: 'wh_Z', vid: null }], 1)];
	});
	const sequence = 2 ** 52;
	await addRow(store, accountId, 'membership', { vid: 'v', segment: 'keen', since: 1, sequence });
	await addRow(store, accountId, 'standing', { vid: 'v', body: '{}' });
	const evaluation = { name: 'webhooks', holder: 'one', held_until: 1, sequence, state: '{}' };
	await addRow(store, accountId, 'evaluation', evaluation);
	await addRow(store, accountId, 'conflict', { at: 1, request_id: 'r-1', tids: '["T-1"]' });
}

async function recordUsage(store: OpenStore, keyId: string, usedKeyId: string): Promise<void> {
	const month = new Date().toISOString().slice(0, 7);
	const { quotaPerMonth } = await store.control.plan('plan-of-acme');
	const writer = await store.startWriting({
		onCommit() {},
		onError: (_, reason) => assert.fail(reason),
		onNotice() {},
		onWaiting: () => {},
		onDeath: (error) => assert.fail(error),
	});
	try {
		await writer.settleQuotas([{ keyId, month, used: 0, seq: 1, ask: { kind: 'lease', quotaPerMonth } }]);
		await writer.settleQuotas([{ keyId, month, used: 17, seq: 2, ask: { kind: 'return' } }]);
		await writer.recordCounts({
			experimentReads: [{ accountId: 1, experiment: 'offer', group: 'holdout', register: 7, rank: 3 }],
			keyUses: [{ keyId: usedKeyId, atMs: receivedAtMs }],
		});
	} finally {
		await writer.stop();
	}
}

/** Whatever happens, it is closed: its connections would keep the process of the tests alive. */
async function onCopyTarget(store: OpenStore, act: (target: CopyTarget) => Promise<unknown>): Promise<void> {
	const target = await openCopyTarget(store.place);
	try {
		await act(target);
	} finally {
		await target.close();
	}
}

/** With gaps in their numbers, as duplicates leave on PostgreSQL. */
async function addEvents(store: OpenStore, accountId: number, count: number): Promise<void> {
	for (let from = 0; from < count; from += 5000) {
		const rows = Array.from({ length: Math.min(5000, count - from) }, (_, index) => {
			const n = from + index + 1;
			const cid = n % 3 === 0 ? null : (oddTexts[n % 5] as string);
			const rvn = n % 10 === 0 ? -n : n === 1 ? Number.MAX_SAFE_INTEGER : n;
			return [
				n * 3,
				`T-${n}`,
				`S-${n}`,
				cid,
				'newsletter',
				rvn,
				receivedAtMs + n,
				n % 2 ? null : `R-${n}`,
				n % 7 === 0 ? receivedAtMs + 2 * n : null,
				0,
				null,
			];
		});
		await onCopyTarget(store, (target) => target.addRows(accountId, 'subscription_event', rows));
	}
}

/**
 * Visitors of whom some have shown tids, and half of them the same cid; some were erased, some have lost hits by age.
 */
async function addVisitors(store: OpenStore, accountId: number): Promise<void> {
	const hits = Array.from({ length: 40 }, (_, n) => {
		const events = n % 3 === 0 ? [{ name: 'order', tid: `T-${n + 1}` }] : [];
		return hit({ atMs: receivedAtMs + n }, { events, cid: n % 2 === 0 ? (oddTexts[1] as string) : null });
	});
	const stored = await store.transact(accountId, () => storeHits(hits));
	const again = stored.map(({ vid, sid }, n) => hit({ vid, sid, atMs: receivedAtMs + 60_000 + n }));
	await store.transact(accountId, () => storeHits(again));
	for (const { vid } of stored.slice(10, 13)) await eraseVisitor(store, accountId, vid);
	await store.transact(accountId, () => prune(receivedAtMs + 5));
	await assertAsTheLogSays(store, accountId);
}

async function assertSame(source: OpenStore, target: OpenStore): Promise<void> {
	const sorted = (content: Awaited<ReturnType<OpenStore['control']['content']>>) =>
		Object.values(content).map((rows) =>
			rows.map((row) => JSON.stringify(Object.entries(row).sort())).sort(),
		);
	assert.deepEqual(sorted(await target.control.content()), sorted(await source.control.content()));
	assert.deepEqual(await target.control.usage(), await source.control.usage());
	for (const { id } of await source.control.accounts()) {
		assert.deepEqual(await storedEvents(target, id), await storedEvents(source, id));
		assert.deepEqual(await derived(target, id), await derived(source, id));
		await assertAsTheLogSays(target, id);
	}
}

async function freshPlaces(t: TestContext, from: number, to: number): Promise<[string, string]> {
	return [(await engines[from]?.freshAddress(t)) as string, (await engines[to]?.freshAddress(t)) as string];
}

for (const [from, to] of [
	[0, 0],
	[0, 1],
	[1, 0],
	[1, 1],
] as const)
	test(`copy takes everything from ${engines[from]?.name} to ${engines[to]?.name}, and a server continues there`, {
		skip: from >= to && takesLong,
	}, async (t) => {
		const [source, target] = await freshPlaces(t, from, to);
		// More than a page, once.
		const count = from < to ? 5001 : 301;
		const { store, key, aids } = await fill(await openFor(t, source), count, 301);
		const report = (await caskadeJson(['copy', '--from', source, '--to', target])) as {
			accounts: {
				aid: string;
				events: number;
				hits: number;
				visitors: number;
				rows: number;
				copied: number;
			}[];
		};
		assert.deepEqual(
			report.accounts.map(({ aid, events, hits, visitors }) => [aid, events, hits, visitors]),
			[
				[aids[0], count, 69, 37],
				[aids[1], 301, 69, 37],
				[aids[2], 0, 0, 0],
			],
		);
		for (const { rows, copied } of report.accounts) assert.equal(copied, rows);
		const rows = report.accounts.reduce((sum, account) => sum + account.rows, 0);
		assert.ok(rows > count + 301 + 338, 'touches, too');
		assert.deepEqual(
			{ ...report, accounts: 0 },
			{ resumed: false, clients: 2, plans: 3, keys: 3, accounts: 0, events: count + 301, hits: 138, rows },
		);
		const copy = await openFor(t, target);
		await assertSame(store, copy);
		if (to === 1)
			assert.equal(await plannedEvents(t, target, 1), count, 'statements are planned for what is there');

		await using server = await serveHere(['--database', target]);
		const again = await server.upload(key, { aid: aids[0], data: [event(), { ...event(), tid: 'T-5' }] });
		assert.deepEqual([again.status, again.headers.get('x-events-duplicate')], [201, '1']);
		const account = await copy.control.account(aids[0] as string);
		const stored = await storedEvents(copy, account.id);
		assert.equal(stored.length, count + 1);
		assert.notEqual(stored.at(-1)?.tid, `T-${count}`, 'new events come after those that were copied');
		const added = await copy.control.createAccount({ aid: 'c-a-new', client: 'new', origins: [] }, (id) =>
			copy.createAccountDatabase(id),
		);
		assert.equal(added.id, 4);
	});

for (const to of [0, 1])
	test(`a killed copy to ${engines[to]?.name} is resumed, and nothing is copied twice`, {
		skip: takesLong,
	}, async (t) => {
		const { store, address } = await filled(t, 2000);
		const target = await killHalfWay(t, address, to);
		const command = ['copy', '--from', address, '--to', target];
		const half = await openStore(target);
		const letsIn = await half.control.hasClients();
		await half.close();
		assert.equal(letsIn, false, 'nobody is let in to half a copy');

		const report = (await caskadeJson(command)) as {
			resumed: boolean;
			events: number;
			accounts: { copied: number }[];
		};
		assert.equal(report.resumed, true);
		const copied = report.accounts.reduce((sum, account) => sum + account.copied, 0);
		assert.ok(copied > 0 && copied < 4338, `${copied} copied by the second run`);
		assert.equal(report.events, 4000);
		await assertSame(store, await openFor(t, target));
		assertRefused(await caskade(command), /not empty/);
	});

test('a source that is not there is refused, and not created', async (t) => {
	const folder = temporaryFolder(t);
	const [typo, target] = ['typo', 'target'].map((name) => join(folder, name)) as [string, string];
	assertRefused(
		await caskade(['copy', '--from', `sqlite:${typo}`, '--to', `sqlite:${target}`]),
		/There is no data in .*typo; /,
	);
	const empty = (await engines[1]?.freshAddress(t)) as string;
	assertRefused(
		await caskade(['copy', '--from', empty, '--to', `sqlite:${target}`]),
		/There is no schema caskade_control at postgres:/,
	);
	assert.deepEqual(readdirSync(folder), []);
	assert.deepEqual(await schemasAt(t, empty), []);
});

async function filled(t: TestContext, eventsPerAccount: number): Promise<Source & { address: string }> {
	const address = (await engines[0]?.freshAddress(t)) as string;
	return { ...(await fill(await openFor(t, address), eventsPerAccount)), address };
}

/** Kills a copy when some of its events have arrived and others have not; one that was too fast is made again. */
async function killHalfWay(t: TestContext, source: string, to: number): Promise<string> {
	for (;;) {
		const target = (await engines[to]?.freshAddress(t)) as string;
		await using copying = new TestProcess(process.execPath, [
			...[mainPath, 'copy', '--from', source, '--to', target],
		]);
		const count = await eventCounter(t, target);
		while (copying.child.exitCode === null && !((await count(1)) > 0)) await delay(2);
		await copying.kill();
		if ((await count(2)) < 2000) return target;
	}
}

test('a copy between engines serves the sockets of one while it reads the other', {
	skip: takesLong,
}, async (t) => {
	const { store } = await fill(await openFor(t, (await engines[0]?.freshAddress(t)) as string), 5001, 10);
	// As in the comparison of a large account, which reads one page after another.
	let timers = 0;
	const timer = setInterval(() => timers++, 10);
	t.after(() => clearInterval(timer));
	for (const endMs = performance.now() + 5000; timers < 2 && performance.now() < endMs; )
		await store.read(1, tableRows('subscription_event', undefined, 100));
	assert.ok(timers >= 2, `${timers} timers between transactions`);
});

test('a copy is refused while a server runs on the data folder, and prevents servers from starting', async (t) => {
	const [source, target] = await freshPlaces(t, 0, 0);
	const store = await openFor(t, source);
	await addClient(store);
	await using _ = await serveHere(['--database', source]);
	assertRefused(
		await caskade(['copy', '--from', source, '--to', target]),
		/A server runs on the data folder .*; stop it first, since what arrives meanwhile would not be copied/,
	);
	const free = await openFor(t, target);
	const unblockServers = free.blockServers();
	assertRefused(
		await caskadeWithin(['serve', '--port', '0', '--database', target]),
		/Another 'caskade serve' runs/,
	);
	unblockServers();
});

test('a copy needs an empty target and a source with data', async (t) => {
	const [source, target] = await freshPlaces(t, 0, 0);
	const from = await openFor(t, source);
	assertRefused(await caskade(['copy', '--from', source, '--to', target]), /nothing to copy/);
	assertRefused(await caskade(['copy', '--from', source, '--to', source]), /same place/);
	await addClient(from);
	await addClient(await openFor(t, target), { client: 'somebody' });
	assertRefused(await caskade(['copy', '--from', source, '--to', target]), /not empty/);
	const under = `sqlite:${temporaryFolder(t)}`;
	await onCopyTarget(await openFor(t, under), (target) => target.begin('another source', []));
	assertRefused(
		await caskade(['copy', '--from', source, '--to', under]),
		/copy of another source is under way/,
	);
});

test('a resumed copy does not copy visitors again', async (t) => {
	const [source, target] = await freshPlaces(t, 0, 1);
	const { store } = await fill(await openFor(t, source), 10);
	const copy = await openFor(t, target);
	const interrupted = copyStore(store, copy, ({ step }) => {
		if (step === 'verify') throw new Error('interrupted');
	});
	await assert.rejects(interrupted, /interrupted/);
	const { accounts, rows } = await copyStore(store, copy, () => {});
	assert.deepEqual([accounts.reduce((sum, { copied }) => sum + copied, 0), rows > 0], [0, true]);
	await assertSame(store, copy);
});

test('hits that were deleted after an interrupted copy are detected', async (t) => {
	const [source, target] = await freshPlaces(t, 1, 0);
	const { store } = await fill(await openFor(t, source), 10);
	const copy = await openFor(t, target);
	const interrupted = copyStore(store, copy, ({ step }) => {
		if (step === 'verify') throw new Error('interrupted');
	});
	await assert.rejects(interrupted, /interrupted/);
	await store.transact(1, () => prune(receivedAtMs + 60_010));
	await assert.rejects(
		copyStore(store, copy, () => {}),
		/differs from the source/,
	);
	assert.equal(await copy.control.hasClients(), false);
});

test('differences after a copy are detected', async (t) => {
	const [source, target] = await freshPlaces(t, 0, 1);
	const { store } = await fill(await openFor(t, source), 5001, 10);
	const copy = await openFor(t, target);
	const interrupted = copyStore(store, copy, ({ rows }) => {
		if (rows > 0) throw new Error('interrupted');
	});
	await assert.rejects(interrupted, /interrupted/);
	// As if an earlier attempt had left a gap behind it.
	const row = [15_003, 'T-5001', 'S', null, 'newsletter', 1, 1, null, null, 0, null];
	await onCopyTarget(copy, (target) => target.addRows(1, 'subscription_event', [row]));
	const { code, stderr } = await caskade(['copy', '--from', source, '--to', target]);
	assert.match(stderr, /The copy of account c-a-acme-uk .* differs from the source; .*copy again\.\n$/);
	assert.equal(code, 1);
	assert.equal(await copy.control.hasClients(), false);
});

test('events of unknown accounts are not overwritten', async (t) => {
	const [source, target] = await freshPlaces(t, 0, 1);
	await fill(await openFor(t, source), 10);
	const store = await openFor(t, target);
	await store.createAccountDatabase(1);
	await addEvents(store, 1, 1);
	const command = ['copy', '--from', source, '--to', target];
	for (let attempt = 0; attempt < 2; attempt++)
		assertRefused(await caskade(command), /not empty: it has data of accounts/);
});

test('without --json a copy shows its progress and its result', async (t) => {
	const [source, target] = await freshPlaces(t, 0, 0);
	await fill(await openFor(t, source), 500);
	const { stdout, stderr, code } = await caskade(['copy', '--from', source, '--to', target]);
	assert.equal(code, 0);
	assert.match(stderr, /^copy c-a-acme-uk: 0 of 1,426 rows\n/);
	assert.match(stderr, /^verify c-a-other-uk: 1,426 of 1,426 rows, [\d,]+\/s$/m);
	assert.match(
		stdout,
		/Everything is copied and compared: 2 clients, 3 accounts, 3 plans, 3 keys, 1000 events, 138 hits\.\n$/,
	);
});
