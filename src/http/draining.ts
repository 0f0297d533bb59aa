import type { ServerHttp2Stream } from 'node:http2';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** RFC 9113, 6.8: a first GOAWAY that refuses no stream, so that none that is on its way is lost. */
const everyStream = 2 ** 31 - 1;

/** Answers this request, and has whoever sent it open another connection, to another server, for the next. */
export function askToMoveOn({ raw }: FastifyRequest, reply: FastifyReply): void {
	const { stream } = raw as typeof raw & { stream?: ServerHttp2Stream };
	if (stream) stream.session?.goaway(0, everyStream);
	// Not the reply's own headers, from which error answers take this one away.
	else reply.raw.setHeader('connection', 'close');
}
