import assert from 'node:assert/strict';
import { readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { accountDatabases } from '../../../core/store/contract/deletion.ts';
import { engines } from '../../../core/store/engines.ts';
import { eventually } from '../../../eventually.ts';
import {
	assertRefused,
	caskade,
	caskadeJson,
	hasTerminals,
	onTerminal,
	ServeProcess,
} from '../../../process.ts';
import { takesLong } from '../../../quick.ts';
import { browserUserAgent, event, temporaryFolder } from '../../../support.ts';

async function withAccounts(t: TestContext, ...aids: string[]): Promise<string[]> {
	const at = ['--database', `sqlite:${temporaryFolder(t)}`];
	for (const aid of aids) await caskadeJson(['account', 'create', aid, '--client', 'acme', ...at]);
	return at;
}

test('account delete needs the name of the account twice', async (t) => {
	const at = await withAccounts(t, 'c-a-x', 'c-a-y');
	assertRefused(
		await caskade(['account', 'delete', 'c-a-x', ...at]),
		/no terminal to ask on: add --yes c-a-x\.$/m,
	);
	assertRefused(
		await caskade(['account', 'delete', 'c-a-x', '--yes', 'c-a-y', ...at]),
		/--yes names c-a-y, but the account to delete is c-a-x/,
	);
	assertRefused(
		await caskade(['account', 'delete', 'c-a-z', '--yes', 'c-a-z', ...at]),
		/There is no account c-a-z/,
	);
	assert.equal(((await caskadeJson(['account', 'list', ...at])) as object[]).length, 2);
	assert.deepEqual(await caskadeJson(['account', 'delete', 'c-a-x', '--yes', 'c-a-x', ...at]), {
		deleted: 'c-a-x',
		events: 0,
		hits: 0,
		visitors: 0,
	});
	assert.match(
		(await caskade(['account', 'delete', 'c-a-y', '--yes', 'c-a-y', ...at])).stdout,
		/^Account c-a-y is deleted, with: events 0, hits 0, visitors 0\. Backups and dumps .* still contain it/,
	);
	assert.deepEqual(await caskadeJson(['client', 'delete', 'acme', ...at]), { deleted: 'acme' });
	assert.deepEqual(await caskadeJson(['client', 'list', ...at]), []);
});

test('on a terminal, account delete says what there is, and asks for the name', async (t) => {
	if (!hasTerminals) return t.skip('there is no command `script` to make a terminal');
	const at = await withAccounts(t, 'c-a-x');
	const refused = await onTerminal(['account', 'delete', 'c-a-x', ...at], 'yes');
	assert.match(refused.stdout, /c-a-x would be deleted, with: events 0, hits 0, visitors 0\./);
	assert.match(refused.stdout, /Type c-a-x to go on: /);
	assert.equal(refused.code, 1);
	assert.equal((await onTerminal(['account', 'delete', 'c-a-x', ...at], 'c-a-x')).code, 0);
	assert.deepEqual(await caskadeJson(['account', 'list', ...at]), []);
});

test('client delete and plan delete say what to end first', async (t) => {
	const at = await withAccounts(t, 'c-a-x');
	await caskadeJson(['plan', 'create', 'large', ...at]);
	const issue = ['key', 'issue', '--client', 'acme', '--plan', 'large', ...at];
	const { id } = (await caskadeJson(issue)) as { id: string };
	assertRefused(
		await caskade(['client', 'delete', 'acme', ...at]),
		new RegExp(`Client acme still has accounts \\(c-a-x\\) and keys \\(${id}\\); end them first`),
	);
	assertRefused(await caskade(['plan', 'delete', 'large', ...at]), new RegExp(`still has keys \\(${id}\\)`));
	await caskadeJson(['key', 'revoke', id, ...at]);
	assert.equal((await caskade(['plan', 'delete', 'large', ...at])).stdout, 'Plan large is deleted.\n');
	await caskadeJson(['account', 'delete', 'c-a-x', '--yes', 'c-a-x', ...at]);
	assert.equal((await caskade(['client', 'delete', 'acme', ...at])).stdout, 'Client acme is deleted.\n');
});

interface Answer {
	readonly status: number;
	readonly body: string;
}

/** Uploads, hits and reads of one account, as fast as they are answered, until it is told to stop. */
class Load {
	readonly seen = new Map<string, Set<string>>();
	readonly #aid: string;
	readonly #servers: readonly ServeProcess[];
	readonly #key: string;
	#isOver = false;
	readonly #running: Promise<unknown>;

	constructor(aid: string, key: string, servers: readonly ServeProcess[], cask: string) {
		[this.#aid, this.#key, this.#servers] = [aid, key, servers];
		const all = [
			(server: ServeProcess) => this.upload(server),
			(server: ServeProcess) => this.hit(server),
			(server: ServeProcess) => this.#fetch('reads', `${server.url}/visscores?cask=${cask}`),
		];
		this.#running = Promise.all(all.flatMap((one) => servers.map((server) => this.#repeat(one, server))));
	}

	async #repeat(one: (server: ServeProcess) => Promise<Answer>, server: ServeProcess): Promise<void> {
		while (!this.#isOver) {
			await one(server);
			await delay(5);
		}
	}

	async #fetch(what: string, url: string, init: RequestInit = {}): Promise<Answer> {
		const answer = await fetch(url, init);
		const body = await answer.text();
		const statuses = this.seen.get(what) ?? new Set();
		this.seen.set(what, statuses.add(String(answer.status)));
		return { status: answer.status, body };
	}

	upload(server = this.#servers[0] as ServeProcess): Promise<Answer> {
		return this.#fetch('uploads', `${server.url}/subscription`, {
			method: 'POST',
			headers: { 'content-type': 'application/json', 'x-api-key': this.#key },
			body: JSON.stringify({ aid: this.#aid, data: [event()] }),
		});
	}

	hit(server: ServeProcess): Promise<Answer> {
		return this.#fetch('hits', `${server.url}/hit`, {
			method: 'POST',
			headers: { 'content-type': 'application/json', 'user-agent': browserUserAgent },
			body: JSON.stringify({ aid: this.#aid, url: 'https://shop.example/pricing' }),
		});
	}

	async stop(): Promise<void> {
		this.#isOver = true;
		await this.#running;
	}
}

/** Deleted files that a process still has open. */
function deletedFilesOf({ child }: ServeProcess): string[] {
	const folder = `/proc/${child.pid}/fd`;
	return readdirSync(folder).flatMap((name) => {
		try {
			const target = readlinkSync(join(folder, name));
			return target.includes('/accounts/') && target.endsWith(' (deleted)') ? [target] : [];
		} catch {
			return [];
		}
	});
}

for (const { name, isFolder, freshAddress } of engines)
	test(`an account is deleted under load, and every request is answered as documented, on ${name}`, {
		skip: takesLong,
	}, async (t) => {
		const address = await freshAddress(t);
		const at = ['--database', address];
		const settings = { gone: 'c-a-gone', kept: 'c-a-kept' };
		for (const aid of Object.values(settings))
			await caskadeJson(['account', 'create', aid, '--client', 'acme', ...at]);
		await caskadeJson(['plan', 'create', 'fast', '--rate', '100000', '--burst', '100000', ...at]);
		const issue = ['key', 'issue', '--client', 'acme', '--plan', 'fast', ...at];
		const { key } = (await caskadeJson(issue)) as { key: string };
		await using closing = new AsyncDisposableStack();
		const flags = [...at, '--hits-per-address', '100000', '--log-level', 'info', '--keep-hits-days', '30'];
		const servers: ServeProcess[] = [];
		for (let count = 0; count < (isFolder ? 1 : 2); count++)
			servers.push(closing.use(await ServeProcess.start(flags)));
		const hook = ['--url', 'http://127.0.0.1:9/', '--events', 'segment.entered', '--allow-private'];
		await caskadeJson(['webhook', 'create', settings.gone, ...hook, ...at]);
		const loads: Load[] = [];
		for (const aid of Object.values(settings)) {
			const [server] = servers as [ServeProcess];
			const fired = await fetch(`${server.url}/hit`, {
				method: 'POST',
				headers: { 'content-type': 'application/json', 'user-agent': browserUserAgent },
				body: JSON.stringify({ aid }),
			});
			const { cask } = (await fired.json()) as { cask: string };
			loads.push(new Load(aid, key, servers, cask));
		}
		const [gone, kept] = loads as [Load, Load];
		await delay(1000);

		const { deleted, events } = (await caskadeJson([
			...['account', 'delete', settings.gone, '--yes', settings.gone, ...at],
		])) as { deleted: string; events: number };
		assert.equal(deleted, settings.gone);
		assert.ok(events > 0);
		await delay(500);
		await Promise.all([gone.stop(), kept.stop()]);
		const statuses = (load: Load) =>
			Object.fromEntries([...load.seen].map(([what, seen]) => [what, [...seen].sort().join()]));
		assert.deepEqual(statuses(gone), { uploads: '201,400', hits: '200,400', reads: '200,403' });
		assert.deepEqual(statuses(kept), { uploads: '201', hits: '200', reads: '200' });
		const refused = await gone.upload();
		assert.match(refused.body, /"validationErrors":"Invalid account"/);
		assert.deepEqual(await accountDatabases(t, address), [2]);
		if (isFolder && process.platform === 'linux')
			await eventually('its files are closed', () => servers.flatMap(deletedFilesOf).length === 0, 10_000);
		assert.equal((await caskade(['doctor', ...at])).code, 0);

		// The name may be used again, and begins empty.
		await caskadeJson(['account', 'create', settings.gone, '--client', 'acme', ...at]);
		await eventually('it is known', async () => (await gone.upload()).status === 201);
		assert.equal(((await caskadeJson(['events', settings.gone, ...at])) as object[]).length, 1);
		for (const server of servers) {
			const { code, stderr } = await server.kill('SIGTERM');
			assert.equal(code, 0);
			const failed = stderr.split('\n').filter((line) => /"level":"?(error|warn|[45]0)/.test(line));
			assert.deepEqual(failed, []);
		}
	});
