import { randomUUID } from 'node:crypto';
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { ApiError, errorBody } from '../errors.ts';
import { METHODS } from '../node-http.ts';
import { jsonType } from './answer.ts';
import { inBatches } from './batches.ts';
import { answerOn, answerSocket } from './client-error.ts';
import { drainConnection } from './draining.ts';
import { hasLooseLine } from './malformed.ts';
import type { Routes } from './routes.ts';

/** Maximum size of HTTP/2 headers; Node enforces the same limit on HTTP/1.1. */
const maxHeaderBytes = 16 * 1024;
/** The methods that Node's HTTP/1.1 parser accepts, and the only ones the framework knows. */
const knownMethods: ReadonlySet<string> = new Set(METHODS);

export interface RequestFilterOptions {
	/** The framework's request handler. */
	readonly handler: RequestListener;
	readonly routes: Routes;
	readonly isDraining: () => boolean;
	/** Called when the filter has answered a request itself. */
	readonly onAnswered: (status: number) => void;
	/** Calls its argument, which handles requests that have arrived together. */
	readonly inOneGo: (handleAll: () => void) => void;
}

const looseLine = () =>
	new ApiError('bad_request', {
		detail: 'the request line must be a method, a target and HTTP/1.1, with single spaces',
	});

/** Passes requests to the framework, and answers those that the framework cannot handle. */
export function filterRequests(server: Server, options: RequestFilterOptions): void {
	const { handler, routes, isDraining, onAnswered, inOneGo } = options;
	const refuse = (request: IncomingMessage, response: ServerResponse, error: ApiError) => {
		if (isDraining()) drainConnection(request, response);
		const body = errorBody(error.code, error.detail);
		const headers = { 'content-type': jsonType, 'content-length': Buffer.byteLength(body), ...error.headers };
		response.writeHead(error.status, { 'x-request-id': randomUUID(), ...headers }).end(body);
		onAnswered(error.status);
	};
	const handle = (request: IncomingMessage, response: ServerResponse) => {
		const { method = '', url = '' } = request;
		if (hasTooManyHeaders(request)) refuse(request, response, new ApiError('headers_too_large'));
		else if (!knownMethods.has(method)) refuse(request, response, routes.missing(url, method));
		else handler(request, response);
	};
	const pass = inBatches(server, handle, inOneGo);
	const enter = (request: IncomingMessage, response: ServerResponse) => {
		if (hasLooseLine(request)) refuse(request, response, looseLine());
		else pass(request, response);
	};
	server.on('request', enter);
	// Otherwise Node would send 100 Continue before the key is checked, or answer 417 by itself.
	server.on('checkContinue', enter);
	server.on('checkExpectation', enter);
	// CONNECT has no path. For HTTP/1.1, Node passes the raw socket, without its listeners: a client that has gone would
	// end the process.
	server.on('connect', (request: IncomingMessage, response: Socket | ServerResponse) => {
		if ('writeHead' in response) return refuse(request, response, new ApiError('not_found'));
		response.on('error', () => response.destroy());
		// An answer that is still being sent continues when the socket has room.
		response.on('drain', () => answerOn(response)?.emit('drain'));
		if (answerSocket('not_found', response, randomUUID()) !== undefined) onAnswered(404);
	});
	// A client that closes its half of the connection after the request still waits for the answer.
	(server as Server & { httpAllowHalfOpen: boolean }).httpAllowHalfOpen = true;
}

/** Checks HTTP/2 only; Node checks HTTP/1.1. */
function hasTooManyHeaders({ httpVersionMajor, rawHeaders }: IncomingMessage): boolean {
	if (httpVersionMajor < 2) return false;
	let bytes = 0;
	for (const text of rawHeaders) bytes += text.length;
	return bytes > maxHeaderBytes;
}
