import type { ServerHttp2Stream } from 'node:http2';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '../errors.ts';
import { sendError } from './answer.ts';

/** Ends a request of HTTP/2 that is not whole in time; those of HTTP/1.1 Node ends by itself. */
export function enforceBodyTimeout(request: FastifyRequest, reply: FastifyReply, timeoutMs: number): void {
	const { raw } = request;
	const { stream } = raw as typeof raw & { stream?: ServerHttp2Stream };
	if (!stream || stream.endAfterHeaders) return;
	const timer = setTimeout(() => sendError(request, reply, new ApiError('request_timeout')), timeoutMs);
	const clear = () => clearTimeout(timer);
	raw.once('end', clear);
	raw.once('close', clear);
}
