import { setTimeout } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { sendJson } from '../http/answer.ts';
import { handlesOfDatabase, hasFileHandles } from '../store/file-handles.ts';
import type { Schemas } from '../store/migrations.ts';
import { commit, version } from '../version.ts';

/** How long an answer to `GET /readyz` is cached, so that frequent checks write little. */
const probeAgainMs = 1000;
/** A store that takes longer for one small write is not ready. */
const probeTimeoutMs = 1000;

/** One connection, and one account database that is not open yet. */
const minHandles = 1 + handlesOfDatabase;
const storeFailing = '{"status":"store failing"}';
const noHandles = '{"status":"no file handles left"}';

export interface HealthOptions {
	readonly isDraining: () => boolean;
	readonly probe: () => Promise<void>;
	readonly monotonicMs: () => number;
	/** Number of requests waiting for the store. */
	readonly queueDepth: () => number;
	readonly schemas: Schemas;
	readonly startedAtMs: number;
}

/**
 * `GET /healthz`: the process is alive, and which Caskade it runs. `GET /readyz`: the server is ready: it is not stopping, can accept connections
 * and open databases, and has just completed a real write.
 */
export function health(app: FastifyInstance, options: HealthOptions): void {
	const { schemas, startedAtMs } = options;
	const startedAt = new Date(startedAtMs).toISOString();
	app.get('/healthz', (_request, reply) => {
		const requestsWaiting = options.queueDepth();
		const alive = { status: 'ok', version, commit, schemas, startedAt, requestsWaiting };
		sendJson(reply, 200, JSON.stringify(alive));
	});

	let lastProbe: { atMs: number; problem: Promise<string | null> } | undefined;
	const findProblem = () => {
		const nowMs = options.monotonicMs();
		if (!lastProbe || nowMs - lastProbe.atMs > probeAgainMs) {
			const probed = options.probe().then(
				() => null,
				() => storeFailing,
			);
			const late = setTimeout(probeTimeoutMs, storeFailing, { ref: false });
			// The probe needs no further file handle.
			const problem = hasFileHandles(minHandles) ? Promise.race([probed, late]) : Promise.resolve(noHandles);
			lastProbe = { atMs: nowMs, problem };
		}
		return lastProbe.problem;
	};

	app.get('/readyz', async (_request, reply) => {
		if (options.isDraining()) sendJson(reply, 503, '{"status":"draining"}');
		else {
			const problem = await findProblem();
			if (problem === null) sendJson(reply, 200, '{"status":"ready"}');
			else sendJson(reply, 503, problem);
		}
		return reply;
	});
}
