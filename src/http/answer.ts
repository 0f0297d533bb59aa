import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ServerHttp2Stream } from 'node:http2';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ApiError, errorBody } from '../errors.ts';
import { bodyLimitBytes, payloadTooLarge } from './body.ts';

export const jsonType = 'application/json; charset=utf-8';

/** Sends a body that is JSON text already. */
export function sendJson(reply: FastifyReply, status: number, body: string): void {
	reply.code(status).header('content-type', jsonType).send(body);
}

/** Sends an entry of the error table, and keeps whatever is left of the request's body from costing much. */
export function sendError(request: FastifyRequest, reply: FastifyReply, error: ApiError): void {
	if (reply.sent) return;
	if (leavesBody(request, reply, error)) discardBody(request, reply);
	reply.headers(error.headers);
	sendJson(reply, error.status, errorBody(error.code, error.detail));
}

/** What the framework itself refuses, as an entry of the table. */
const frameworkErrors: Readonly<Record<string, (maxBytes?: number) => ApiError>> = {
	FST_ERR_CTP_BODY_TOO_LARGE: payloadTooLarge,
	FST_ERR_CTP_INVALID_CONTENT_LENGTH: () => badRequest('the body is not as long as content-length says'),
	FST_ERR_BAD_URL: () => badRequest('the path is not a valid URL path'),
	FST_ERR_MAX_PARAM_LENGTH: () => new ApiError('not_found'),
	ECONNRESET: () => badRequest('the connection ended before the body did'),
};

function badRequest(detail: string): ApiError {
	return new ApiError('bad_request', { detail });
}

/**
 * The answer to whatever was thrown under a request. An error that nobody foresaw tells the client nothing.
 * @param maxBytes that the body of this request may have
 */
export function toApiError(error: unknown, maxBytes?: number): ApiError {
	if (error instanceof ApiError) return error;
	const code = (error as { code?: unknown } | null)?.code;
	const known = typeof code === 'string' ? frameworkErrors[code] : undefined;
	if (known) return known(maxBytes);
	if (isRefusal(error)) return new ApiError('bad_request');
	return new ApiError('internal', { detail: 'unexpected error', cause: error });
}

/** The framework, and what serves files, put a status on what they refuse. */
function isRefusal(error: unknown): boolean {
	const { statusCode } = (error ?? {}) as { statusCode?: unknown };
	return typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500;
}

/**
 * Whether the rest of the body would have Node close the connection at once, or may be large or slow. Of a small one Node
 * throws the rest away itself, and the connection serves the next request.
 */
function leavesBody({ raw }: FastifyRequest, reply: FastifyReply, error: ApiError): boolean {
	if (raw.complete) return false;
	const length = raw.headers['content-length'];
	if (raw.httpVersionMajor === 1) {
		// A request that speaks of no body has none.
		if (length === undefined && raw.headers['transfer-encoding'] === undefined) return false;
		if (isLast(raw, reply.raw)) return true;
	}
	const isLate = error.code === 'timeout' || error.code === 'request_timeout';
	return isLate || length === undefined || Number(length) > bodyLimitBytes;
}

/** Whether the connection closes with this answer. */
function isLast({ httpVersion, headers }: IncomingMessage, response: ServerResponse): boolean {
	return httpVersion === '1.0' || /close/i.test(headers.connection ?? '') || response.hasHeader('connection');
}

const lingerBytes = 1024 * 1024;
const lingerMs = 1000;

/**
 * The answer goes out before the body is in. Closing at once would reset the connection, and the client might never
 * read the answer; so the body is thrown away for a while, and then the connection is closed.
 */
function discardBody(request: FastifyRequest, reply: FastifyReply): void {
	const { raw } = request;
	let bytes = 0;
	const { stream } = raw as typeof raw & { stream?: ServerHttp2Stream };
	// Of HTTP/2 only the one stream: the connection goes on with the others.
	const close = () => (stream ? stream.close() : raw.socket.destroy());
	if (!stream && isLast(raw, reply.raw)) closeLater(raw);
	const timer = setTimeout(close, lingerMs);
	raw.on('data', (chunk: Buffer) => {
		bytes += chunk.length;
		if (bytes > lingerBytes) close();
	});
	raw.once('close', () => clearTimeout(timer));
	raw.once('end', () => clearTimeout(timer));
}

/** Keeps Node from closing the connection with the answer, until the body has ended. */
function closeLater(request: IncomingMessage): void {
	const { socket } = request;
	const closeSoon = socket.destroySoon;
	let isDue = false;
	socket.destroySoon = () => {
		isDue = true;
	};
	request.once('end', () => {
		socket.destroySoon = closeSoon;
		if (isDue) socket.destroySoon();
	});
}
