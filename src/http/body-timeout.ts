import type { ServerHttp2Stream } from 'node:http2';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '../errors.ts';
import { sendError } from './answer.ts';

/** Answers 408 when the body of an HTTP/2 request is not complete in time. Node does this itself for HTTP/1.1. */
export function enforceBodyTimeout(request: FastifyRequest, reply: FastifyReply, timeoutMs: number): void {
	const { raw } = request;
	const { stream } = raw as typeof raw & { stream?: ServerHttp2Stream };
	if (!stream || stream.endAfterHeaders) return;
	const timer = setTimeout(() => sendError(request, reply, new ApiError('request_timeout')), timeoutMs);
	const clear = () => clearTimeout(timer);
	raw.once('end', clear);
	raw.once('close', clear);
}
