import { setTimeout } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { sendJson } from '../http/answer.ts';
import { handlesOfDatabase, hasFileHandles } from '../store/file-handles.ts';

/** An answer to `GET /readyz` is good for this long, so that asking often does not write often. */
const probeAgainMs = 1000;
/** A store that takes longer than this for one small write is not ready. */
const probeTimeoutMs = 1000;

/** A connection, and an account's database that is not open yet. */
const minHandles = 1 + handlesOfDatabase;
const storeFailing = '{"status":"store failing"}';
const noHandles = '{"status":"no file handles left"}';

/**
 * `GET /healthz`: the process answers. `GET /readyz`: requests may be sent here: the server is not stopping, can take
 * connections and open databases, and a real write into the store has just succeeded.
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
			// The probe needs none that is not open already.
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
