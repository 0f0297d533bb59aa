import assert from 'node:assert/strict';
import {
	copyFileSync,
	existsSync,
	mkdirSync,
	renameSync,
	rmSync,
	truncateSync,
	writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { openStore } from '../src/assembly/open-store.ts';
import { trainDue } from '../src/capabilities/training/jobs/scheduled-training.ts';
import { trainAccount } from '../src/capabilities/training/judge/account-training.ts';
import { pruneAll } from '../src/capabilities/upkeep/jobs/retention-job.ts';
import { subscriptionEvents } from '../src/core/store/account/reading/stored-events.ts';
import { dropControlSchema, forgetAccount, makeEmpty } from './core/store/damage.ts';
import {
	addAccount,
	engines,
	enginesAboveContract,
	openFor,
	startWritingFor,
	upload as storeUpload,
	subscriptionEvent,
} from './core/store/engines.ts';
import { checkpoint } from './core/store/other-program.ts';
import { caskade, caskadeWithin } from './process.ts';
import { some, takesLong } from './quick.ts';
import { addClient, browserUserAgent, collectWork, event, serveAt } from './support.ts';

/** What may have become of an account's file, and what the log then says of it. */
const damages: Readonly<Record<string, readonly [damage: (file: string) => void, reason: RegExp]>> = {
	missing: [(file) => rmSync(file), /is missing/],
	empty: [(file) => truncateSync(file), /is empty/],
	'without a schema': [makeEmpty, /is empty/],
	'cut off': [(file) => truncateSync(file, 6000), /malformed/],
	garbage: [(file) => writeFileSync(file, 'x'.repeat(9000)), /not a database/],
	'a folder': [
		(file) => {
			rmSync(file);
			mkdirSync(file);
		},
		/unable to open/,
	],
	"another account's": [
		(file) => copyFileSync(file.replace(/1\.sqlite$/, '2.sqlite'), file),
		/that of account 2/,
	],
};

/** A server with the accounts of two clients; the file of the first is damaged before it starts, or while it serves. */
async function startDamaged(t: TestContext, damage: (file: string) => void, when: 'before' | 'while') {
	const address = (await engines[0]?.freshAddress(t)) as string;
	const store = await openFor(t, address);
	const [lost, sound] = [await addClient(store), await addClient(store, { client: 'globex' })];
	const file = join(address.slice('sqlite:'.length), 'accounts/1.sqlite');
	const ruin = () => {
		copyFileSync(file, `${file}.backup`);
		for (const suffix of ['-wal', '-shm']) rmSync(file + suffix, { force: true });
		damage(file);
	};
	if (when === 'before') ruin();
	const logged: string[] = [];
	const server = await serveAt(address, { hitsPerAddress: 1e6, hitsPerVisitor: 1e6 }, logged);
	t.after(() => server.stop());
	const post = async (path: string, body: object, headers: Record<string, string>) => {
		const answer = await fetch(server.url + path, {
			method: 'POST',
			headers: { 'content-type': 'application/json', ...headers },
			body: JSON.stringify(body),
		});
		await answer.arrayBuffer();
		return answer.status;
	};
	const uploadTo = ({ aid, key }: typeof lost, fields = {}) =>
		post('/subscription', { aid, data: [event(fields)] }, { 'x-api-key': key });
	const hitOf = ({ aid }: typeof lost) => post('/hit', { aid }, { 'user-agent': browserUserAgent });
	return { address, store, lost, sound, file, ruin, logged, uploadTo, hitOf };
}

for (const [name, [damage, reason]] of some(Object.entries(damages), 3))
	test(`if an account's file is ${name}, its requests get 500, others are not affected, and putting a backup in place repairs it`, async (t) => {
		const { address, store, lost, sound, file, logged, uploadTo, hitOf } = await startDamaged(
			t,
			damage,
			'before',
		);
		assert.match(
			logged.join('\n'),
			new RegExp(`"database":"account ${lost.aid}","reason":"[^"]*(${reason.source})`),
		);
		assert.deepEqual([await uploadTo(lost), await hitOf(lost)], [500, 500]);
		assert.deepEqual([await uploadTo(sound), await hitOf(sound)], [201, 200]);
		const failed = logged.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'failed');
		assert.deepEqual(
			failed.map(({ operation, client, aid }) => ({ operation, client, aid })),
			['uploadSubscription', 'collectHit'].map((operation) => ({
				operation,
				client: lost.client,
				aid: lost.aid,
			})),
		);
		assert.match(failed[0].cause, reason);

		const doctor = await caskade(['doctor', '--database', address]);
		assert.match(doctor.stdout, new RegExp(`CARE  account ${lost.aid}: .*restore a backup`));
		assert.match(doctor.stdout, new RegExp(`ok    account ${sound.aid}:`));
		const migrate = await caskade(['migrate', '--database', address]);
		assert.match(migrate.stderr, new RegExp(`All databases have the newest schema except ${lost.aid} `));
		const { log, lines } = collectWork();
		const round = {
			now: Date.now,
			signal: new AbortController().signal,
			log,
		};
		await pruneAll(store, { ...round, keepHitsDays: 1, keepTouches: false, everyMs: 1000 });
		await trainDue(store, {
			...round,
			everyMs: 1000,
			train: async (account, asOfMs) =>
				trainAccount(store, {
					account,
					asOfMs,
					isOfNow: true,
					seed: 1,
					keepsChoice: true,
					onProgress: () => {},
					goals: await store.control.goals(account.id),
				}),
		});
		assert.deepEqual(
			lines
				.filter(([text]) => text.endsWith(' failed'))
				.map(([text, fields]) => [text, 'aid' in fields && fields.aid]),
			[
				['retention failed', lost.aid],
				['training failed', lost.aid],
			],
		);

		rmSync(file, { recursive: true, force: true });
		for (const suffix of ['-wal', '-shm']) rmSync(file + suffix, { force: true });
		renameSync(`${file}.backup`, file);
		assert.deepEqual([await uploadTo(lost), await hitOf(lost)], [201, 200]);
	});

test('a file that disappears while served accepts nothing more, and another in its place is used', async (t) => {
	const { store, lost, file, ruin, uploadTo, hitOf } = await startDamaged(t, (path) => rmSync(path), 'while');
	assert.deepEqual([await uploadTo(lost, { tid: 'kept' }), await hitOf(lost)], [201, 200]);
	// As a backup is made: of one moment, without the log beside it.
	checkpoint(file);
	ruin();
	assert.deepEqual([await uploadTo(lost), await hitOf(lost)], [500, 500]);
	assert.equal(existsSync(file), false);
	renameSync(`${file}.backup`, file);
	assert.deepEqual([await uploadTo(lost, { tid: 'later' }), await hitOf(lost)], [201, 200]);
	const events = await Array.fromAsync(subscriptionEvents(store, 1));
	assert.deepEqual(
		events.map(({ tid }) => tid),
		['kept', 'later'],
	);
});

test('a flood of requests to a damaged account does not flood the log', { skip: takesLong }, async (t) => {
	const { lost, logged, hitOf } = await startDamaged(t, (file) => rmSync(file), 'before');
	const statuses = await Promise.all(Array.from({ length: 500 }, () => hitOf(lost)));
	assert.deepEqual(new Set(statuses), new Set([500]));
	const lines = logged.filter((line) => /"level":"error"/.test(line));
	// Ten of the request and ten of the store, in ten seconds.
	assert.ok(lines.length <= 60, `${lines.length} lines`);
});

for (const engine of enginesAboveContract) {
	test(`an installation without its control data does not count as new: ${engine.name}`, async (t) => {
		const address = await engine.freshAddress(t);
		const store = await openStore(address);
		await addClient(store);
		await store.close();
		if (engine.isFolder) {
			const control = join(address.slice('sqlite:'.length), 'control.sqlite');
			truncateSync(control);
			await refusesToBegin(
				address,
				/has accounts' databases, but its control\.sqlite is missing or empty; restore/,
			);
			rmSync(control);
			await refusesToBegin(
				address,
				/has accounts' databases, but its control\.sqlite is missing or empty; restore/,
			);
			assert.equal(existsSync(control), false);
		} else {
			await dropControlSchema(t, address);
			await refusesToBegin(
				address,
				/accounts' schemas, as caskade_account_1, but the schema caskade_control is missing/,
			);
		}
		// Another stage's accounts are none of this one's.
		await (await openStore(address, { stage: 'staging' })).close();
	});

	test(`a new account does not take over anything that has rows: ${engine.name}`, async (t) => {
		const address = await engine.freshAddress(t);
		const store = await openFor(t, address);
		const id = await addAccount(store, 'c-a-old');
		const writer = await startWritingFor(t, store);
		const stored = subscriptionEvent();
		await storeUpload(writer, id, [stored]);
		await writer.stop();
		await forgetAccount(t, address, id);
		const created = await caskade(['account', 'create', 'c-a-new', '--client', 'x', '--database', address]);
		assert.match(
			created.stderr,
			/exists already, (and belongs to|with data of) an account that \S+ does not know.*; restore[^\n]+\.\n$/,
		);
		assert.equal(created.code, 1);
		assert.deepEqual(await store.control.accounts(), []);
	});

	test(`what an interrupted creation left is reused: ${engine.name}`, async (t) => {
		const address = await engine.freshAddress(t);
		const store = await openFor(t, address);
		await store.createAccountDatabase(1);
		assert.equal(await addAccount(store, 'c-a-new'), 1);
		const writer = await startWritingFor(t, store);
		assert.equal((await storeUpload(writer, 1, [subscriptionEvent()])).stored, 1);
	});
}

async function refusesToBegin(address: string, sentence: RegExp): Promise<void> {
	for (const args of [
		['serve', '--port', '0'],
		['account', 'create', 'c-a-new', '--client', 'x'],
	]) {
		const ended = await caskadeWithin([...args, '--database', address]);
		assert.match(ended.stderr, sentence);
		assert.equal(ended.code, 1);
	}
}
