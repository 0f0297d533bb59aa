import { setTimeout } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { sendJson } from '../http/answer.ts';
import { handlesOfDatabase, hasFileHandles } from '../store/file-handles.ts';

/** How long an answer to `GET /readyz` is cached, so that frequent checks write little. */
const probeAgainMs = 1000;
/** A store that takes longer for one small write is not ready. */
const probeTimeoutMs = 1000;

/** One connection, and one account database that is not open yet. */
const minHandles = 1 + handlesOfDatabase;
const storeFailing = '{"status":"store failing"}';
const noHandles = '{"status":"no file handles left"}';

/**
 * `GET /healthz`: the process is alive. `GET /readyz`: the server is ready: it is not stopping, can accept connections
 * and open databases, and has just completed a real write.
 */
export function health(
	app: FastifyInstance,
	options: { isDraining: () => boolean; probe: () => Promise<void>; monotonicMs: () => number },
): void {
	app.get('/healthz', { schema: { hide: true } }, (_request, reply) =>
		sendJson(reply, 200, '{"status":"ok"}'),
	);

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

	app.get('/readyz', { schema: { hide: true } }, async (_request, reply) => {
		if (options.isDraining()) sendJson(reply, 503, '{"status":"draining"}');
		else {
			const problem = await findProblem();
			if (problem === null) sendJson(reply, 200, '{"status":"ready"}');
			else sendJson(reply, 503, problem);
		}
		return reply;
	});
}
