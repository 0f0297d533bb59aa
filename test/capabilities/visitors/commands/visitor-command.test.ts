import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { storeHistory } from '../../../../src/capabilities/history/store/past-history.ts';
import { eraseVisitor } from '../../../../src/capabilities/visitors/store/erasure.ts';
import { insertMessages, saveAttempts, takeDue } from '../../../../src/capabilities/webhooks/store/outbox.ts';
import {
	engines,
	enginesAboveContract,
	receivedAtMs,
	startServingFor,
	subscriptionEvent,
	upload,
} from '../../../core/store/engines.ts';
import { hit } from '../../../core/store/made-hits.ts';
import { addRow, changeRows } from '../../../core/store/rows.ts';
import {
	assertMisused,
	assertRefused,
	caskade,
	caskadeJson,
	hasTerminals,
	onTerminal,
} from '../../../process.ts';
import { takesLong } from '../../../quick.ts';

const [sqlite] = engines;
const at = new Date(receivedAtMs).toISOString();

/** A buyer and somebody else, while a server has the data folder. */
async function startWithBuyer(t: TestContext) {
	assert.ok(sqlite);
	const serving = await startServingFor(t, sqlite);
	const { writer, accountId, address } = serving;
	const buyer = hit({}, { cid: 'C-shown', events: [{ name: 'checkout', tid: 'T-shown' }] });
	const other = hit({ atMs: receivedAtMs + 1 });
	await writer.storeHit(accountId, buyer);
	await writer.storeHit(accountId, other);
	const sale = subscriptionEvent({ tid: 'T-shown', cid: 'C-shown', rvn: 1250 });
	await upload(writer, accountId, [sale]);
	const command = (name: string, ...args: string[]) => [
		...['visitor', name, 'c-a-acme-uk', ...args],
		...['--database', address],
	];
	return { ...serving, buyer, other, sale, command };
}

test('the audit log says whom a command has shown, found or exported, and forgets it with an erasure', async (t) => {
	const { buyer, sale, address, command } = await startWithBuyer(t);

	const { freshVid: vid } = buyer;
	await caskadeJson(command('show', vid));
	await caskadeJson(command('export', vid));
	await caskadeJson(command('find', '--cid', 'C-shown'));
	await caskadeJson(command('find', '--cid', 'C-nobody'));
	await caskadeJson(['subscription', 'show', 'c-a-acme-uk', sale.subid, '--database', address]);
	assert.equal((await caskade(['export', 'c-a-acme-uk', '--database', address])).code, 0);
	const list = async () =>
		(
			(await caskadeJson(['audit', 'list', '--database', address])) as {
				who: string;
				action: string;
				about: string | null;
			}[]
		).map(({ who, action, about }) => [who.startsWith('command line, as '), action, about]);
	const entries = (about: (text: string) => string | null) => [
		[true, 'history exported', null],
		[true, 'visitor viewed', about(vid)],
		[true, 'customer searched', about('C-shown')],
		[true, 'visitor exported', about(vid)],
		[true, 'visitor viewed', about(vid)],
	];
	assert.deepEqual(await list(), entries(String));
	assert.equal((await caskade(command('erase', '--cid', 'C-shown', '--yes'))).code, 0);
	assert.deepEqual(
		(await list()).slice(1),
		entries(() => null),
	);
});

test('visitor show prints profile, visits, events and shown keys', async (t) => {
	const { buyer, sale, command } = await startWithBuyer(t);
	const shown = (await caskadeJson(command('show', buyer.freshVid))) as Record<string, unknown>;
	assert.deepEqual(shown.visits, [
		{
			sid: buyer.freshSid,
			startedAt: at,
			lastHitAt: at,
			hits: 1,
			channel: 'direct',
			landingPage: 'pricing',
		},
	]);
	assert.deepEqual(shown.subscriptionEvents, [{ ...sale, receivedAt: at }]);
	assert.equal((shown.profile as { hits: number }).hits, 1);
	const { stdout, code } = await caskade(command('show', buyer.freshVid));
	assert.equal(code, 0);
	assert.match(stdout, /^revenuePence +1250$/m);
	assert.match(stdout, /^tid +T-shown +2026-11-21T10:00:00.000Z +true +true$/m);
});

test('visitor export is one JSON document with every hit', async (t) => {
	const { buyer, command } = await startWithBuyer(t);
	const exported = (await caskadeJson(command('export', buyer.freshVid))) as Record<string, unknown>;
	assert.deepEqual(Object.keys(exported).sort(), [
		...['aid', 'exportedAt', 'hits', 'identityLinks', 'memberships', 'messages', 'profile', 'standing'],
		...['subscriptionEvents', 'vid', 'visits'],
	]);
	assert.deepEqual(exported.hits, [{ at, sid: buyer.freshSid, ...buyer.body }]);
	const plain = await caskade(command('export', buyer.freshVid));
	assert.deepEqual(JSON.parse(plain.stdout).hits, exported.hits);
});

test('show and export contain what webhooks know of a visitor', async (t) => {
	const { buyer, store, accountId, command } = await startWithBuyer(t);
	const vid = buyer.freshVid;
	const membership = { vid, segment: 'keen', since: receivedAtMs, sequence: 7 };
	await addRow(store, accountId, 'membership', membership);
	await addRow(store, accountId, 'standing', { vid, body: '{"bands":[]}' });
	await store.transact(accountId, function* () {
		yield [insertMessages([message(vid)], receivedAtMs)];
	});
	const memberships = [{ segment: 'keen', since: at }];
	const kept = { webhook: 'wh_1', sequence: 7, type: 'segment.entered' };
	const exported = (await caskadeJson(command('export', vid))) as Record<string, unknown>;
	assert.deepEqual(
		[exported.memberships, exported.standing, exported.messages],
		[memberships, { bands: [] }, [{ ...kept, createdAt: at, deliveredAt: null, message: { vid } }]],
	);
	assert.deepEqual(((await caskadeJson(command('show', vid))) as typeof exported).memberships, memberships);
	assert.match((await caskade(command('show', vid))).stdout, /^keen +2026-11-21T10:00:00.000Z$/m);
});

function message(vid: string) {
	const body = JSON.stringify({ vid });
	return { webhook: 'wh_1', sequence: 7, type: 'segment.entered', vid, body } as const;
}

for (const engine of enginesAboveContract)
	test(`an erasure waits for messages to webhooks that are under way, on ${engine.name}`, async (t) => {
		const { store, writer, accountId } = await startServingFor(t, engine);
		const { freshVid: vid, ...rest } = hit();
		await writer.storeHit(accountId, { freshVid: vid, ...rest });
		const nowMs = Math.floor(store.now());
		const taken = await store.transact(accountId, function* () {
			yield [insertMessages([message(vid)], nowMs)];
			return yield* takeDue('wh_1', { nowMs, leaseMs: nowMs + 20_000, limit: 1 });
		});
		assert.equal(taken.length, 1);
		let isErased = false;
		const erasing = eraseVisitor(store, accountId, vid).then(() => {
			isErased = true;
		});
		await delay(60);
		assert.equal(isErased, false);
		// The receiver has failed. There is no other attempt.
		const failed = { atMs: nowMs, status: 500, problem: 'status 500', dueAtMs: nowMs + 20_000 };
		await store.transact(accountId, () => saveAttempts([{ webhook: 'wh_1', sequence: 7, ...failed }]));
		await erasing;
		assert.deepEqual(
			await store.transact(accountId, () =>
				takeDue('wh_1', { nowMs: nowMs + 30_000, leaseMs: nowMs + 60_000, limit: 1 }),
			),
			[],
		);
	});

test('visitor erase erases one visitor, or all of a customer, beside a server', async (t) => {
	const { buyer, other, writer, accountId, command } = await startWithBuyer(t);
	const erased = { hits: 1, visits: 1, events: 1, links: 2 };
	const customer = command('erase', '--cid', 'C-shown', '--yes');
	assert.deepEqual(await caskadeJson(customer), {
		aid: 'c-a-acme-uk',
		vids: [buyer.freshVid],
		revoked: 2,
		...erased,
	});
	assertRefused(await caskade(command('show', buyer.freshVid)), /has no visitor/);
	const second = await caskade(command('erase', other.freshVid, '--yes'));
	assert.match(second.stdout, /^hits +1$/m);
	assert.match(second.stderr, /^erase c-a-acme-uk: 1 of 1 hits, events and links/m);
	const again = hit({ vid: other.freshVid, sid: other.freshSid });
	assert.equal((await writer.storeHit(accountId, again)).vid, again.freshVid);
	// Forgetting twice is no error.
	assert.deepEqual(await caskadeJson(customer), {
		aid: 'c-a-acme-uk',
		vids: [],
		revoked: 0,
		hits: 0,
		visits: 0,
		events: 0,
		links: 0,
	});
	assert.equal((await caskade(command('erase', buyer.freshVid, '--yes'))).code, 0);
});

test('visitor erase says so where nothing is stored of whom it names, and is no error', async (t) => {
	const { buyer, command } = await startWithBuyer(t);
	for (const how of ['--yes', '--dry-run']) {
		const { code, stderr } = await caskade(command('erase', '--cid', 'C-shwon', how));
		assert.equal(code, 0);
		assert.match(stderr, /^Nothing is stored of this customer in c-a-acme-uk: /);
	}
	const known = await caskade(command('erase', buyer.freshVid, '--dry-run'));
	assert.equal(known.stderr, '');
	const unknown = await caskade(command('erase', '0'.repeat(32), '--dry-run'));
	assert.match(unknown.stderr, /^Nothing is stored of this visitor in c-a-acme-uk: /);
});

test('visitor erase --dry-run says what would be erased, and erases nothing', async (t) => {
	const { buyer, command } = await startWithBuyer(t);
	const would = { vids: [buyer.freshVid], hits: 1, visits: 1, events: 1, links: 2 };
	for (const whom of [[buyer.freshVid], ['--cid', 'C-shown']])
		assert.deepEqual(await caskadeJson(command('erase', ...whom, '--dry-run')), {
			aid: 'c-a-acme-uk',
			...would,
		});
	assert.equal((await caskade(command('show', buyer.freshVid))).code, 0);
});

test('where there is no terminal, visitor erase needs --yes', async (t) => {
	const { buyer, command } = await startWithBuyer(t);
	assertRefused(
		await caskade(command('erase', buyer.freshVid)),
		/no terminal to ask on: add --yes, or --dry-run to see what it would erase/,
	);
	assert.equal((await caskade(command('show', buyer.freshVid))).code, 0);
});

test('on a terminal, visitor erase says what it would erase, and asks', { skip: takesLong }, async (t) => {
	if (!hasTerminals) return t.skip('there is no command `script` to make a terminal');
	const { buyer, command } = await startWithBuyer(t);
	const refused = await onTerminal(command('erase', buyer.freshVid), 'y');
	assert.match(
		refused.stdout,
		/c-a-acme-uk would lose: visitors 1, hits 1, visits 1, events 1, links 2\. It cannot be undone\./,
	);
	assert.match(refused.stdout, /Type yes to go on: /);
	assert.match(refused.stdout, /caskade: Nothing was done\./);
	assert.equal(refused.code, 1);
	assert.equal((await caskade(command('show', buyer.freshVid))).code, 0);
	assert.equal((await onTerminal(command('erase', buyer.freshVid), 'yes')).code, 0);
	assertRefused(await caskade(command('show', buyer.freshVid)), /has no visitor/);
	const again = await onTerminal(command('erase', buyer.freshVid), '');
	assert.equal(again.code, 0);
	assert.doesNotMatch(again.stdout, /Type yes/, 'there is nothing to ask about');
});

test('visitor find prints who has shown an id, or has events with it', async (t) => {
	const { buyer, sale, command } = await startWithBuyer(t);
	const found = { vid: buyer.freshVid, shown: true, events: 1 };
	assert.deepEqual(await caskadeJson(command('find', '--cid', 'C-shown')), [found]);
	assert.deepEqual(await caskadeJson(command('find', '--tid', 'T-shown')), [found]);
	assert.deepEqual(await caskadeJson(command('find', '--subid', sale.subid)), [{ ...found, shown: false }]);
	assert.match(
		(await caskade(command('find', '--cid', 'C-shown'))).stdout,
		new RegExp(`^vid +shown +events\n${buyer.freshVid} +true +1\n$`),
	);
	assert.equal((await caskade(command('find', '--cid', 'C-none'))).stdout, 'No visitor.\n');
	for (const flags of [[], ['--cid', 'C', '--tid', 'T']])
		assertRefused(await caskade(command('find', ...flags)), /Name one of --cid, --tid and --subid/);
});

test('visitor erase needs either a visitor or a customer', async (t) => {
	const { buyer, command } = await startWithBuyer(t);
	assertRefused(await caskade(command('erase')), /Name either a visitor, or a customer/);
	assertRefused(
		await caskade(command('erase', buyer.freshVid, '--cid', 'C')),
		/Name either a visitor, or a customer/,
	);
	assertMisused(await caskade(command('show', 'ABC')), /32 lower-case hexadecimal digits/);
});

test('a visitor who has shown several customers is named before anything is done', async (t) => {
	const { store, accountId, command } = await startWithBuyer(t);
	const vid = 'c'.repeat(32);
	const hits = ['C-1', 'C-2', null].map((cid, index) => ({
		vid,
		sid: null,
		atMs: receivedAtMs + index,
		body: hit({}, { cid }).body,
	}));
	await store.transact(accountId, () => storeHistory(hits, []));
	const would = (await caskadeJson(command('erase', '--cid', 'C-1', '--dry-run'))) as Record<string, unknown>;
	assert.deepEqual([would.shared, would.hits], [[vid], 1]);
	assert.match((await caskade(command('erase', vid, '--dry-run'))).stdout, /^customers +2$/m);
	assertRefused(await caskade(command('export', vid)), /has shown 2 customers.*visitor rebuild/);
	const erased = (await caskadeJson(command('erase', '--cid', 'C-1', '--yes'))) as Record<string, unknown>;
	assert.deepEqual([erased.vids, erased.hits, erased.links], [[vid], 1, 1]);
	const [left] = (await caskadeJson(command('find', '--cid', 'C-2'))) as { vid: string }[];
	const exported = (await caskadeJson(command('export', left?.vid ?? ''))) as { hits: object[] };
	assert.equal(exported.hits.length, 2);
});

test('visitor rebuild prints how many visitors differed from the log', async (t) => {
	const { store, accountId, command } = await startWithBuyer(t);
	assert.deepEqual(await caskadeJson(command('rebuild')), {
		aid: 'c-a-acme-uk',
		visitors: 2,
		apart: 0,
		changed: 0,
	});
	await changeRows(store, accountId, 'visitor', { profile: '{}' });
	const { stdout, stderr } = await caskade(command('rebuild'));
	assert.match(stdout, /^changed +2$/m);
	assert.match(stderr, /^rebuild c-a-acme-uk: 2 of 2 visitors/m);
});
