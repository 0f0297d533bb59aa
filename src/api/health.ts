import { setTimeout } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { sendJson } from '../http/answer.ts';

/** An answer to `GET /readyz` is good for this long, so that asking often does not write often. */
const probeAgainMs = 1000;
/** A store that takes longer than this for one small write is not ready. */
const probeTimeoutMs = 1000;

/**
 * `GET /healthz`: the process answers. `GET /readyz`: requests may be sent here: the server is not stopping, and a
 * real write into the store has just succeeded.
 */
export function health(
	app: FastifyInstance,
	options: { isDraining: () => boolean; probe: () => Promise<void>; monotonicMs: () => number },
): void {
	app.get('/healthz', { schema: { hide: true } }, (_request, reply) =>
		sendJson(reply, 200, '{"status":"ok"}'),
	);

	let lastProbe: { atMs: number; works: Promise<boolean> } | undefined;
	const storeWorks = () => {
		const nowMs = options.monotonicMs();
		if (!lastProbe || nowMs - lastProbe.atMs > probeAgainMs) {
			const probed = options.probe().then(
				() => true,
				() => false,
			);
			const late = setTimeout(probeTimeoutMs, false, { ref: false });
			lastProbe = { atMs: nowMs, works: Promise.race([probed, late]) };
		}
		return lastProbe.works;
	};

	app.get('/readyz', { schema: { hide: true } }, async (_request, reply) => {
		if (options.isDraining()) sendJson(reply, 503, '{"status":"draining"}');
		else if (await storeWorks()) sendJson(reply, 200, '{"status":"ready"}');
		else sendJson(reply, 503, '{"status":"store failing"}');
		return reply;
	});
}
