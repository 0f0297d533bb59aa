import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { ServerOptions, ServerSettings } from '../src/assembly/serve.ts';
import type { AccessDirectory } from '../src/core/access/directory.ts';
import { standardPlan, type UsagePlan } from '../src/core/domain/usage-plan.ts';
import { createLog, type Log, type WorkLog } from '../src/core/log.ts';
import type { RunningServer } from '../src/core/serve-store.ts';
import {
	type StoredSubscriptionEvent,
	subscriptionEvents,
} from '../src/core/store/account/reading/stored-events.ts';
import type { OpenStore } from '../src/core/store/store.ts';
import { allTests } from './at-end.ts';
import { openStore, serve } from './whole.ts';

/** A plan whose limits no test meets by accident. */
export const roomyPlan: UsagePlan = {
	...standardPlan,
	name: 'roomy',
	ratePerSecond: 1_000_000,
	burst: 1_000_000,
	quotaPerMonth: 1_000_000_000,
	timeoutMs: 60_000,
};

/** A test, or all of them: something that ends. */
export type Lasting = Pick<TestContext, 'after'>;

/** A new folder that goes away with the test. */
export function temporaryFolder(t: Lasting): string {
	const folder = mkdtempSync(join(tmpdir(), 'caskade-test-'));
	t.after(() => rmSync(folder, { recursive: true, force: true }));
	return folder;
}

/** A data folder that has been opened; made once. */
let installed: Promise<string> | undefined;

/** A new data folder with the tables of an unused installation: quicker than an empty one. */
export async function installedFolder(t: Lasting): Promise<string> {
	installed ??= install();
	const folder = join(temporaryFolder(t), 'data');
	cpSync(await installed, folder, { recursive: true });
	return folder;
}

async function install(): Promise<string> {
	const folder = temporaryFolder(allTests);
	await (await openStore(`sqlite:${folder}`)).close();
	return folder;
}

export type Client = Pick<ServedAccount, 'client' | 'planName' | 'aid' | 'key' | 'keyId'>;

/** A client with an account and a key on a plan of its own. */
export async function addClient(
	store: OpenStore,
	options: { client?: string; aid?: string; plan?: Partial<UsagePlan> } = {},
): Promise<Client> {
	const client = options.client ?? 'acme';
	const aid = options.aid ?? `c-a-${client}-uk`;
	const planName = `plan-of-${client}`;
	const plan = { ...roomyPlan, name: planName, ...options.plan };
	await store.control.createAccount({ aid, client, origins: [] }, (id) => store.createAccountDatabase(id));
	await store.control.createPlan(plan);
	const { key, id: keyId } = await store.control.issueKey(client, planName);
	return { client, planName, aid, key, keyId };
}

/** An account, with a database of its own, on a running server. */
export interface ServedAccount {
	readonly url: string;
	/** A second connection to the server's databases, as the command line has one. */
	readonly store: OpenStore;
	readonly directory: AccessDirectory;
	readonly client: string;
	readonly planName: string;
	readonly aid: string;
	readonly key: string;
	readonly keyId: string;
	/** Uploads with the account's key; `headers` are added, `undefined` leaves one out. */
	upload(body: unknown, headers?: Record<string, string | undefined>): Promise<Response>;
	/** Fires a hit of the account as a browser does; `query` as `?scope=sid`. */
	sendHit(body?: unknown, headers?: Record<string, string>, query?: string): Promise<Response>;
	/** The same, where nothing else than success will do. */
	hit(body?: object, headers?: Record<string, string>, query?: string): Promise<HitAnswer>;
	/** What is stored of an account. */
	stored(aid?: string): Promise<StoredSubscriptionEvent[]>;
}

/** An account on a server that nobody else uses. */
export interface TestService extends ServedAccount {
	readonly folder: string;
	readonly server: RunningServer;
	/** Every line that was logged, as text. */
	readonly logged: string[];
}

export interface HitAnswer {
	readonly vid: string;
	readonly sid: string;
	readonly cask: string;
	readonly caskExpiresAt: string;
	readonly scores?: readonly unknown[];
	readonly segments?: readonly unknown[];
}

export const browserUserAgent =
	'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36';

/** The log of background work, and its lines: the text, and the fields. */
export function collectWork(): { readonly log: WorkLog; readonly lines: [text: string, fields: object][] } {
	const lines: [text: string, fields: object][] = [];
	const add = (fields: object, text: string) => lines.push([text, fields]);
	return { lines, log: { info: add, warn: add, error: add } };
}

export function collectLog(lines: string[]): Log {
	return createLog('debug', { write: (line) => lines.push(line) });
}

type TestSettings = Partial<ServerSettings> & Pick<ServerOptions, 'now' | 'store'>;

/**
 * A server without background work, for who does that itself or needs none.
 * @param logged gets every line that is logged, as text
 */
export function serveAt(
	database: string,
	{ now, store, ...settings }: TestSettings = {},
	logged: string[] = [],
): Promise<RunningServer> {
	const onDeath = (error: Error) => {
		throw error;
	};
	return serve(
		{ database, host: '127.0.0.1', port: 0, metricsHost: '127.0.0.1', ...settings },
		{ log: collectLog(logged), onDeath, now, store, background: 'none' },
	);
}

type ServiceSettings = TestSettings & { readonly plan?: Partial<UsagePlan> };

/** A real server on a fresh data folder, with a client `acme` and its account `c-a-acme-uk`. */
export async function startService(t: Lasting, settings: ServiceSettings = {}): Promise<TestService> {
	const folder = await installedFolder(t);
	return { ...(await startServiceOn(t, `sqlite:${folder}`, settings)), folder };
}

/** The same on an empty database. */
export async function startServiceOn(
	t: Lasting,
	database: string,
	{ plan = {}, ...settings }: ServiceSettings = {},
): Promise<Omit<TestService, 'folder'>> {
	const store = await openStore(database);
	const client = await addClient(store, { plan });
	const logged: string[] = [];
	const server = await serveAt(database, settings, logged);
	t.after(async () => {
		await server.stop();
		await store.close();
	});
	return { ...servedAccount(server, store, client), server, logged };
}

/** What a test does with a client's account on a server. */
export function servedAccount(server: RunningServer, store: OpenStore, client: Client): ServedAccount {
	const { aid, key } = client;
	const sendHit: TestService['sendHit'] = (body = {}, headers = {}, query = '') =>
		fetch(`${server.url}/hit${query}`, {
			method: 'POST',
			headers: { 'content-type': 'application/json', 'user-agent': browserUserAgent, ...headers },
			body: typeof body === 'string' ? body : JSON.stringify({ aid, ...(body as object) }),
		});
	return {
		...client,
		url: server.url,
		store,
		directory: server.directory,
		upload: (body, headers = {}) => {
			const all = { 'content-type': 'application/json', 'x-api-key': key, ...headers };
			return fetch(`${server.url}/subscription`, {
				method: 'POST',
				headers: Object.fromEntries(
					Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined),
				),
				body: typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body),
			});
		},
		sendHit,
		async hit(body, headers, query) {
			const answer = await sendHit(body, headers, query);
			assert.equal(answer.status, 200, await answer.clone().text());
			return (await answer.json()) as HitAnswer;
		},
		async stored(of = aid) {
			const { id } = await store.control.account(of);
			return Array.fromAsync(subscriptionEvents(store, id));
		},
	};
}

let eventNumber = 0;

/** A valid subscription event with a `tid` of its own. */
export function event(fields: Record<string, unknown> = {}): Record<string, unknown> {
	eventNumber++;
	return { tid: `order-${eventNumber}`, subid: `sub-${eventNumber}`, evt: 'newsletter', ...fields };
}

/** What the answer to an upload says of repeats. */
export function duplicateHeaders({ headers }: Pick<Response, 'headers'>): Record<string, string | null> {
	return {
		duplicate: headers.get('x-events-duplicate'),
		conflicting: headers.get('x-events-conflicting'),
		duplicateRows: headers.get('x-duplicate-rows'),
		conflictingRows: headers.get('x-conflicting-rows'),
	};
}
