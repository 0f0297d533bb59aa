import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { clientTableNames } from '../../../../src/core/store/account/client-tables.ts';
import { addClient, browserUserAgent, type HitAnswer, serveAt } from '../../../support.ts';
import { openStore } from '../../../whole.ts';
import { installedPostgresDatabase } from '../postgres-server.ts';
import { becomes, type ClientOfService, uploadTids } from './service.ts';

/** Accounts whose tables another session locks; more than there are connections for uploads. */
const stuckNames = ['stuck-a', 'stuck-b', 'stuck-c', 'stuck-d', 'stuck-e', 'stuck-f'];
const freeNames = ['free-a', 'free-b'];

interface Place {
	readonly url: string;
	readonly stuck: readonly Account[];
	readonly free: readonly Account[];
	/** Locks every table of the stuck accounts. @returns a function that unlocks them */
	readonly lock: () => Promise<() => Promise<void>>;
}

interface Account extends ClientOfService {
	readonly schema: string;
}

async function start(t: TestContext, timeoutMs: number): Promise<Place> {
	const address = await installedPostgresDatabase();
	const store = await openStore(address);
	const add = async (client: string): Promise<Account> => {
		const { aid, key } = await addClient(store, { client, plan: { timeoutMs } });
		const { id } = await store.control.account(aid);
		return { aid, key, schema: `caskade_account_${id}` };
	};
	// One after another, because on a busy machine a creation may wait too long for others.
	const stuck = await Array.fromAsync(stuckNames, add);
	const free = await Array.fromAsync(freeNames, add);
	const server = await serveAt(address);
	const locker = new pg.Client({ connectionString: address });
	await locker.connect();
	t.after(async () => {
		await locker.end();
		await server.stop();
		await store.close();
	});
	const tables = stuck.flatMap(({ schema }) =>
		[...clientTableNames, 'schema_version'].map((table) => `"${schema}".${table}`),
	);
	const lock = async () => {
		await locker.query('BEGIN');
		await locker.query(`LOCK TABLE ${tables.join(', ')} IN ACCESS EXCLUSIVE MODE`);
		return async () => {
			await locker.query('ROLLBACK');
		};
	};
	return { url: server.url, stuck, free, lock };
}

async function sendHit(url: string, { aid }: Account, fields: object = {}): Promise<HitAnswer> {
	const answer = await fetch(`${url}/hit`, {
		method: 'POST',
		headers: { 'content-type': 'application/json', 'user-agent': browserUserAgent },
		body: JSON.stringify({ aid, ...fields }),
	});
	const text = await answer.text();
	assert.equal(answer.status, 200, text);
	return JSON.parse(text);
}

/** Sends requests to the stuck accounts as fast as they are answered, whatever the answers. */
function keepBusy(place: Place, send: (account: Account) => Promise<unknown>): () => Promise<void> {
	let isOver = false;
	const senders = place.stuck
		.flatMap((account) => [account, account, account])
		.map(async (account) => {
			while (!isOver) {
				await send(account).catch(() => {});
				await delay(5);
			}
		});
	return async () => {
		isOver = true;
		await Promise.all(senders);
	};
}

let number = 0;

const upload = async (url: string, account: Account) => {
	const { status, body } = await uploadTids(url, account, [`T-${number++}`]);
	assert.equal(status, 201, body);
};

/** Each kind of access to the database. */
const ways: Record<string, (url: string, account: Account, cask: string) => Promise<unknown>> = {
	uploads: upload,
	hits: (url, account) => sendHit(url, account, { cid: `C-${number++}` }),
	reads: async (url, _account, cask) => {
		const answer = await fetch(`${url}/visscores?cask=${cask}`);
		assert.equal(answer.status, 200, await answer.text());
	},
};

for (const [name, use] of Object.entries(ways))
	for (const isFresh of name === 'reads' ? [false] : [false, true])
		test(`${name} continue while the tables of six busy accounts are locked${isFresh ? ', also of accounts used for the first time' : ''}`, async (t) => {
			const place = await start(t, 3000);
			const { url, stuck, free, lock } = place;
			const casks = new Map<Account, string>();
			for (const account of isFresh ? [] : [...stuck, ...free]) {
				casks.set(account, (await sendHit(url, account)).cask);
				await upload(url, account);
			}
			const unlock = await lock();
			const stop = keepBusy(place, (account) => use(url, account, casks.get(account) as string));
			try {
				await delay(100);
				const answers: Promise<unknown>[] = [];
				for (let n = 0; n < 40; n++) {
					for (const account of free) answers.push(use(url, account, casks.get(account) as string));
					await delay(50);
				}
				await Promise.all(answers);
				assert.equal((await fetch(`${url}/readyz`)).status, 200);
				// Accounts whose tables are unlocked are served again.
				await unlock();
				for (const account of stuck)
					await becomes(`${account.aid} is served again`, 6000, () =>
						use(url, account, casks.get(account) as string).then(
							() => true,
							() => false,
						),
					);
			} finally {
				await stop();
			}
		});
