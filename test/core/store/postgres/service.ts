import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import pg from 'pg';
import type { UsagePlan } from '../../../../src/core/domain/usage-plan.ts';
import type { RunningServer } from '../../../../src/core/serve-store.ts';
import { subscriptionEvents } from '../../../../src/core/store/account/reading/stored-events.ts';
import type { ServingWriter } from '../../../../src/core/store/serving.ts';
import type { OpenStore } from '../../../../src/core/store/store.ts';
import { eventually } from '../../../eventually.ts';
import { addClient, event, serveAt } from '../../../support.ts';
import { openStore } from '../../../whole.ts';
import { PostgresProxy } from './proxy.ts';

export interface ClientOfService {
	readonly aid: string;
	readonly key: string;
}

/** A service that reaches its database through a proxy, and a store that reaches it directly. */
export interface ProxiedService {
	/** The address of the database, without the proxy. */
	readonly address: string;
	readonly proxy: PostgresProxy;
	readonly store: OpenStore;
	readonly server: RunningServer;
	readonly writer: ServingWriter;
	readonly acme: ClientOfService;
	readonly globex: ClientOfService;
	/** All log lines. */
	readonly logged: string[];
	upload(tids: string[], client?: ClientOfService): Promise<Answer>;
	/** Uploads one tid until it is stored, for services with a very short deadline. */
	uploadUntilStored(tid: string): Promise<void>;
	isReady(): Promise<boolean>;
	/** The stored tids of an account, in order of arrival. */
	stored(client?: ClientOfService): Promise<string[]>;
}

export interface Answer {
	readonly status: number;
	readonly body: string;
	readonly headers: Headers;
	/** Time from the request to its answer. */
	readonly tookMs: number;
}

/** Starts the service on an empty database, with clients `acme` and `globex`. */
export async function startProxiedService(
	t: TestContext,
	address: string,
	plan: Partial<UsagePlan>,
	planOfGlobex: Partial<UsagePlan> = plan,
): Promise<ProxiedService> {
	const store = await openStore(address);
	const acme = await addClient(store, { plan });
	const globex = await addClient(store, { client: 'globex', plan: { ...plan, ...planOfGlobex } });
	const proxy = await PostgresProxy.start(address);
	const serving = await openStore(proxy.address);
	let writer: ServingWriter | undefined;
	const startWriting = serving.startWriting.bind(serving);
	serving.startWriting = async (events) => {
		writer = await startWriting(events);
		return writer;
	};
	const logged: string[] = [];
	const server = await serveAt(proxy.address, { store: serving }, logged);
	t.after(async () => {
		proxy.restore();
		// A vanished connection would delay the service's stop.
		proxy.cut();
		await server.stop();
		await proxy[Symbol.asyncDispose]();
		await store.close();
	});
	assert.ok(writer);
	return {
		address,
		proxy,
		store,
		server,
		writer,
		acme,
		globex,
		logged,
		upload: (tids, client = acme) => uploadTids(server.url, client, tids),
		uploadUntilStored: async (tid) => {
			await becomes(
				'it is stored',
				1000,
				async () => (await uploadTids(server.url, acme, [tid])).status === 201,
			);
		},
		isReady: async () => (await fetch(`${server.url}/readyz`)).status === 200,
		async stored(client = acme) {
			const { id } = await store.control.account(client.aid);
			const events = await Array.fromAsync(subscriptionEvents(store, id));
			return events.map(({ tid }) => tid);
		},
	};
}

export async function uploadTids(
	url: string,
	{ aid, key }: ClientOfService,
	tids: string[],
): Promise<Answer> {
	const beganMs = performance.now();
	const answer = await fetch(`${url}/subscription`, {
		method: 'POST',
		headers: { 'content-type': 'application/json', 'x-api-key': key },
		body: JSON.stringify({ aid, data: tids.map((tid) => event({ tid })) }),
	});
	const { status, headers } = answer;
	return { status, headers, body: await answer.text(), tookMs: performance.now() - beganMs };
}

/** Another session on the same database. */
export async function sessionOn(t: TestContext, address: string): Promise<pg.Client> {
	const session = new pg.Client({ connectionString: address });
	session.on('error', () => {});
	await session.connect();
	t.after(() => session.end());
	return session;
}

/** Waits until a condition holds that is promised within a time. @returns how long it took */
export function becomes(
	what: string,
	promisedMs: number,
	holds: () => boolean | Promise<boolean>,
): Promise<number> {
	return eventually(what, holds, promisedMs);
}
