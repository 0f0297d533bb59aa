import { randomUUID } from 'node:crypto';
import {
	type IncomingMessage,
	METHODS,
	type RequestListener,
	type Server,
	type ServerResponse,
} from 'node:http';
import type { Socket } from 'node:net';
import { ApiError, errorBody } from '../errors.ts';
import { jsonType } from './answer.ts';
import { answerSocket } from './client-error.ts';
import { drainConnection } from './draining.ts';
import type { Routes } from './routes.ts';

/** Of HTTP/1.1, Node allows as many bytes of request line and headers by itself. */
const maxHeaderBytes = 16 * 1024;
/** What Node's parser of HTTP/1.1 lets in; the framework knows no others. */
const knownMethods: ReadonlySet<string> = new Set(METHODS);

export interface RequestFilterOptions {
	/** The framework's. */
	readonly handler: RequestListener;
	readonly routes: Routes;
	readonly isDraining: () => boolean;
	/** A request was answered here. */
	readonly onAnswered: (status: number) => void;
}

/** Lets a server's requests in to the framework, and answers those that it must not see. */
export function filterRequests(server: Server, options: RequestFilterOptions): void {
	const { handler, routes, isDraining, onAnswered } = options;
	const refuse = (request: IncomingMessage, response: ServerResponse, error: ApiError) => {
		if (isDraining()) drainConnection(request, response);
		response
			.writeHead(error.status, { 'content-type': jsonType, 'x-request-id': randomUUID(), ...error.headers })
			.end(errorBody(error.code));
		onAnswered(error.status);
	};
	const enter = (request: IncomingMessage, response: ServerResponse) => {
		const { method = '', url = '' } = request;
		if (hasTooManyHeaders(request)) refuse(request, response, new ApiError('headers_too_large'));
		else if (!knownMethods.has(method)) refuse(request, response, routes.missing(url, method));
		else handler(request, response);
	};
	server.on('request', enter);
	// Otherwise Node would ask for the body before anybody has looked at the key, or answer 417 by itself.
	server.on('checkContinue', enter);
	server.on('checkExpectation', enter);
	// A target that is no path; of HTTP/1.1 Node gives the bare connection.
	server.on('connect', (request: IncomingMessage, response: Socket | ServerResponse) => {
		if ('writeHead' in response) refuse(request, response, new ApiError('not_found'));
		else if (answerSocket('not_found', response, randomUUID()) !== undefined) onAnswered(404);
	});
	// Who closes its half after its request still waits for the answer.
	(server as Server & { httpAllowHalfOpen: boolean }).httpAllowHalfOpen = true;
}

/** HTTP/2 alone: Node checks those of HTTP/1.1. */
function hasTooManyHeaders({ httpVersionMajor, rawHeaders }: IncomingMessage): boolean {
	if (httpVersionMajor < 2) return false;
	let bytes = 0;
	for (const text of rawHeaders) bytes += text.length;
	return bytes > maxHeaderBytes;
}
