import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { toApiError } from '../http/answer.ts';
import type { HitHandler } from './hit-handler.ts';

/** `GET /hit.gif`: a hit of a page without scripts, as an image. */
export function hitGif(app: FastifyInstance, handler: HitHandler, path = '/hit.gif'): void {
	app.get(path, {
		config: { operation: 'collectHitImage' },
		// A HEAD request is not a hit.
		exposeHeadRoute: false,
		onRequest: (_request, reply, done) => {
			reply.header('cache-control', 'no-store');
			done();
		},
		// Errors are images too, so that a page without scripts never shows a broken one.
		errorHandler: (error, _request, reply) => {
			const { status, headers } = toApiError(error);
			sendImage(reply.headers(headers), status);
		},
		handler: async (request, reply) => {
			handler.admit(request, reply);
			await handler.collect(request, reply, hitOfQuery(request));
			sendImage(reply, 200);
			return reply;
		},
	});
}

/** The hit in the query parameters. The page defaults to the referrer. */
function hitOfQuery({ query, headers }: FastifyRequest): unknown {
	const { event, tid, ...fields } = query as Record<string, string | string[] | undefined>;
	const events = [event ?? []].flat().map((name, index) => (index === 0 && tid ? { name, tid } : { name }));
	return { url: headers.referer, ...fields, events };
}

/** A transparent pixel. */
const pixel = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64');

function sendImage(reply: FastifyReply, status: number): void {
	reply.code(status).header('content-type', 'image/gif').send(pixel);
}
