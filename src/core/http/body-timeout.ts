import type { ServerHttp2Stream } from 'node:http2';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '../errors.ts';
import { sendError } from './answer.ts';

/** The framework reads no bodies of these methods. */
const withoutBody: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE']);

/** Answers 408 when the body of an HTTP/2 request is not complete in time. Node does this itself for HTTP/1.1. */
export function enforceBodyTimeout(request: FastifyRequest, reply: FastifyReply, timeoutMs: number): void {
	const { raw } = request;
	const { stream } = raw as typeof raw & { stream?: ServerHttp2Stream };
	if (!stream || stream.endAfterHeaders) return;
	// Nobody reads it. Node closes the stream itself only where the answer has a body.
	if (withoutBody.has(raw.method ?? '')) raw.resume();
	const timer = setTimeout(() => sendError(request, reply, new ApiError('request_timeout')), timeoutMs);
	const clear = () => clearTimeout(timer);
	raw.once('end', clear);
	raw.once('close', clear);
}
