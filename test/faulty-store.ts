import type { TestContext } from 'node:test';
import type { FastifyInstance } from 'fastify';
import { AccessDirectory } from '../src/core/access/directory.ts';
import { QuotaCounter } from '../src/core/access/quota.ts';
import { RequestCounter } from '../src/core/access/request-counter.ts';
import { type AppOptions, buildApp } from '../src/core/api/app.ts';
import type { SitePaths } from '../src/core/api/site-paths.ts';
import { monotonicMs } from '../src/core/clock.ts';
import { serverRoles } from '../src/core/domain/server-role.ts';
import { Metrics } from '../src/core/metrics.ts';
import { VisitorScorer } from '../src/core/scoring/serve/visitor-scorer.ts';
import type { ServingWriter } from '../src/core/store/serving.ts';
import { addClient, collectLog, installedFolder } from './support.ts';
import { openStore, serving } from './whole.ts';

/** A writer that always succeeds and stores nothing. */
const calmWriter: ServingWriter = {
	storeSubscriptionEvents: async (_accountId, { events }) => ({
		stored: events.length,
		duplicateRows: [],
		conflictingRows: [],
	}),
	storeHit: async (_accountId, { freshVid, freshSid }) => ({ vid: freshVid, sid: freshSid }),
	settleQuotas: async (settlements) =>
		settlements.map(({ seq, used }) => ({ seq, used, leased: used + 100, leasedByAll: used + 100 })),
	probe: async () => {},
	recordCounts: async () => {},
	announce: async () => {},
	queueDepth: 0,
	stop: async () => {},
};

export interface TestApp {
	readonly app: FastifyInstance;
	readonly aid: string;
	readonly key: string;
	readonly logged: string[];
	upload(body: unknown): Promise<{ status: number; headers: Headers; body: string }>;
}

/** Builds the HTTP service, without listening, over a store whose writer the test makes fail. */
export async function appOver(
	t: TestContext,
	failing: Partial<ServingWriter>,
	options: Partial<Pick<AppOptions, 'isDraining' | 'tls' | 'demo' | 'prefix' | keyof SitePaths>> = {},
): Promise<TestApp> {
	const store = await openStore(`sqlite:${await installedFolder(t)}`);
	const { aid, key } = await addClient(store);
	const ignore = () => {};
	const directory = await AccessDirectory.load(store.control, ignore);
	const writer = { ...calmWriter, ...failing };
	const quota = new QuotaCounter(writer, { now: Date.now, monotonicMs, onError: ignore });
	const logged: string[] = [];
	const reader = store.startReading();
	const metrics = new Metrics();
	const counter = new RequestCounter((counts) => writer.recordCounts(counts), ignore);
	const server = {
		store,
		directory,
		reader,
		quota,
		counter,
		metrics,
		background: undefined,
		roles: serverRoles,
	};
	const parts = await Promise.all(
		serving.map((capability) =>
			capability.serving?.({ ...server, isDemo: options.demo ?? false, now: Date.now }),
		),
	);
	const building = buildApp({
		reader,
		scorer: new VisitorScorer({
			reader,
			models: { get: () => undefined, forget: () => {} },
			now: Date.now,
			onError: () => {},
		}),
		directory,
		schemas: store.schemas,
		counter,
		parts: parts.filter((part) => part !== undefined),
		quota,
		writer,
		metrics,
		log: collectLog(logged),
		now: Date.now,
		isDraining: () => false,
		...options,
	});
	t.after(async () => {
		await building.then((built) => built.close(), ignore);
		directory.stop();
		await quota.stop();
		await store.close();
	});
	const app = await building;
	return {
		app,
		aid,
		key,
		logged,
		async upload(body) {
			const answer = await app.inject({
				method: 'POST',
				url: '/subscription',
				headers: { 'content-type': 'application/json', 'x-api-key': key },
				payload: JSON.stringify(body),
			});
			const headers = Object.entries(answer.headers).map(([name, value]) => [name, String(value)]);
			return {
				status: answer.statusCode,
				headers: new Headers(headers as [string, string][]),
				body: answer.body,
			};
		},
	};
}
