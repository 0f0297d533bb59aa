import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ServerHttp2Stream } from 'node:http2';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ApiError, errorBody } from '../errors.ts';
import { bodyLimitBytes, payloadTooLarge } from './body.ts';

declare module 'fastify' {
	interface FastifyRequest {
		/** What it was refused with. */
		refusal: ApiError | null;
	}
}

export const jsonType = 'application/json; charset=utf-8';

/** Sends a body that is already serialised as JSON. */
export function sendJson(reply: FastifyReply, status: number, body: string): void {
	reply.code(status).header('content-type', jsonType).send(body);
}

/** Sends an entry of the error table. Limits the cost of any request body that has not been read yet. */
export function sendError(request: FastifyRequest, reply: FastifyReply, error: ApiError): void {
	if (reply.sent) return;
	request.refusal = error;
	if (leavesBody(request, reply, error)) discardBody(request, reply);
	reply.headers(error.headers);
	sendJson(reply, error.status, errorBody(error.code, error.detail));
}

/** Maps the framework's own error codes to entries of the error table. */
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
 * Maps anything thrown while handling a request to an entry of the error table. Unexpected errors reveal nothing to the
 * client.
 * @param maxBytes the body limit of this request
 */
export function toApiError(error: unknown, maxBytes?: number): ApiError {
	if (error instanceof ApiError) return error;
	const code = (error as { code?: unknown } | null)?.code;
	const known = typeof code === 'string' ? frameworkErrors[code] : undefined;
	if (known) return known(maxBytes);
	if (isRefusal(error)) return new ApiError('bad_request');
	return new ApiError('internal', { detail: 'unexpected error', cause: error });
}

/** The framework and its plugins set a 4xx `statusCode` on errors that are the client's fault. */
function isRefusal(error: unknown): boolean {
	const { statusCode } = (error ?? {}) as { statusCode?: unknown };
	return typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500;
}

/**
 * Whether the unread rest of the body would make Node close the connection at once, or may be large or slow. Node
 * discards the rest of a small body itself and keeps the connection open for the next request.
 */
function leavesBody({ raw }: FastifyRequest, reply: FastifyReply, error: ApiError): boolean {
	if (raw.complete) return false;
	const length = raw.headers['content-length'];
	if (raw.httpVersionMajor === 1) {
		// Without either header, an HTTP/1.1 request has no body.
		if (length === undefined && raw.headers['transfer-encoding'] === undefined) return false;
		if (isLast(raw, reply.raw)) return true;
	}
	const isLate = error.code === 'timeout' || error.code === 'request_timeout';
	return isLate || length === undefined || Number(length) > bodyLimitBytes;
}

/** Whether the connection closes after this answer. */
function isLast({ httpVersion, headers }: IncomingMessage, response: ServerResponse): boolean {
	return httpVersion === '1.0' || /close/i.test(headers.connection ?? '') || response.hasHeader('connection');
}

/**
 * Whoever writes all before reading should see the answer, also over a slow line. Discarding costs little. It ends after a
 * second of silence, and at any rate after so many bytes and so long.
 */
const silenceMs = 1000;
const lingerBytes = 16 * 1024 * 1024;
const lingerMs = 10_000;

/**
 * Discards the body for a while after the answer was sent, then closes the connection. Closing at once would reset the
 * connection, and the client might never read the answer.
 */
function discardBody(request: FastifyRequest, reply: FastifyReply): void {
	const { raw } = request;
	let bytes = 0;
	const { stream } = raw as typeof raw & { stream?: ServerHttp2Stream };
	// HTTP/2: closes only this stream; the connection serves the others.
	const close = () => (stream ? stream.close() : raw.socket.destroy());
	if (!stream) {
		// Or a client could send its next request at the moment at which the connection is closed.
		reply.header('connection', 'close');
		closeLater(raw);
	}
	const endMs = performance.now() + lingerMs;
	const timer = setTimeout(close, silenceMs);
	raw.on('data', (chunk: Buffer) => {
		bytes += chunk.length;
		if (bytes > lingerBytes || performance.now() > endMs) close();
		else timer.refresh();
	});
	raw.once('close', () => clearTimeout(timer));
	raw.once('end', () => clearTimeout(timer));
}

/** Delays Node's closing of the connection until the body has ended. */
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
