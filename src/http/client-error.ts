import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type ErrorCode, errorBody, errorTable } from '../errors.ts';
import { jsonType } from './answer.ts';

const errors: Readonly<Record<string, ErrorCode>> = {
	HPE_HEADER_OVERFLOW: 'headers_too_large',
	ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
};

const statusTexts: Readonly<Record<number, string>> = {
	400: 'Bad Request',
	408: 'Request Timeout',
	431: 'Request Header Fields Too Large',
};

/** How long a client may take to read the answer and close. */
const lingerMs = 1000;

/**
 * Answers what Node could not parse: there is no request and no reply, only a socket, which closes.
 * @returns the status that was sent, if one was
 */
export function answerClientError(
	code: string | undefined,
	socket: Socket & { _httpMessage?: ServerResponse | null },
	requestId: string,
): number | undefined {
	const before = socket._httpMessage;
	if (before?.req.complete && !before.writableFinished) {
		// The trouble is behind a request that is whole: that one gets its own answer first, and nothing comes after it.
		before.once('finish', () => closeAfter(socket));
		return undefined;
	}
	if (!socket.writable || code === 'ECONNRESET') {
		socket.destroy();
		return undefined;
	}
	const error = errors[code ?? ''] ?? 'bad_request';
	const { status } = errorTable[error];
	const body = errorBody(error);
	socket.write(
		[
			`HTTP/1.1 ${status} ${statusTexts[status]}`,
			`content-type: ${jsonType}`,
			`content-length: ${Buffer.byteLength(body)}`,
			`x-request-id: ${requestId}`,
			'connection: close',
			'',
			body,
		].join('\r\n'),
	);
	closeAfter(socket);
	return status;
}

function closeAfter(socket: Socket): void {
	socket.end();
	setTimeout(() => socket.destroy(), lingerMs).unref();
}
