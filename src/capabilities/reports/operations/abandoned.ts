import type { FastifyReply, FastifyRequest } from 'fastify';

const lookEveryMs = 100;

/**
 * For answers that take long to make.
 * @returns a signal that is aborted when nobody waits for the answer any more: it has been sent, or the client has gone
 */
export function whenAbandoned({ raw }: FastifyRequest, reply: FastifyReply): AbortSignal {
	const abandoned = new AbortController();
	const looking = setInterval(() => {
		if (reply.sent || raw.socket.destroyed) end();
		// Of a client that has gone, only its half of the connection is seen to close. If it has closed both, it answers
		// with a reset, which the next look meets. If it still waits, it gets interim responses.
		else if (raw.httpVersion === '1.1' && raw.socket.readableEnded) reply.raw.writeProcessing();
	}, lookEveryMs);
	const end = () => {
		clearInterval(looking);
		abandoned.abort();
	};
	reply.raw.once('close', end);
	return abandoned.signal;
}
