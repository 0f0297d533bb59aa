import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type ErrorCode, errorBody, errorTable } from '../errors.ts';
import { STATUS_CODES } from '../node-http.ts';
import { jsonType } from './answer.ts';

const errors: Readonly<Record<string, ErrorCode>> = {
	HPE_HEADER_OVERFLOW: 'headers_too_large',
	ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
};

/** Time for the client to read the answer and close the connection. */
const lingerMs = 1000;

/**
 * Answers a request that Node could not parse.
 * @returns the status that was sent, if any
 */
export function answerClientError(
	code: string | undefined,
	socket: Socket,
	requestId: string,
): number | undefined {
	if (code !== 'ECONNRESET') return answerSocket(errors[code ?? ''] ?? 'bad_request', socket, requestId);
	if (!closesAfterAnswer(socket)) socket.destroy();
	return undefined;
}

/**
 * Answers on a bare socket, where no request or reply object exists, and closes it.
 * @returns the status that was sent, if any
 */
export function answerSocket(error: ErrorCode, socket: Socket, requestId: string): number | undefined {
	if (closesAfterAnswer(socket)) return undefined;
	if (!socket.writable) {
		socket.destroy();
		return undefined;
	}
	if (isAnswered(socket)) {
		closeAfter(socket);
		return undefined;
	}
	const { status } = errorTable[error];
	const body = errorBody(error);
	socket.write(
		[
			`HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
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

/** What Node keeps with a connection. */
interface HttpSocket extends Socket {
	/** The answer that is being made or sent. */
	readonly _httpMessage?: ServerResponse | null;
	readonly parser?: { readonly incoming: IncomingMessage | null } | null;
}

/** The answer that is being made or sent on a connection. */
export function answerOn(socket: HttpSocket): ServerResponse | null | undefined {
	return socket._httpMessage;
}

/**
 * Whether requests on this connection, of which all has come or which need no more to be answered, are still being
 * answered. If so, their answers go out first, and nothing follows them.
 */
function closesAfterAnswer(socket: HttpSocket): boolean {
	// The parser fails again with whatever else comes.
	if (closing.has(socket)) return true;
	if (!isToBeSent(socket._httpMessage)) return false;
	closing.add(socket);
	closeAfterAnswers(socket);
	return true;
}

function isToBeSent(answer: ServerResponse | null | undefined): answer is ServerResponse {
	return !!answer && !answer.writableFinished && (answer.req.complete || answer.writableEnded);
}

/** When one answer has been sent, Node has the next one there. */
function closeAfterAnswers(socket: HttpSocket): void {
	const answer = socket._httpMessage;
	if (isToBeSent(answer)) answer.once('finish', () => closeAfterAnswers(socket));
	else closeAfter(socket);
}

const closing = new WeakSet<Socket>();

/** Whether the request whose rest cannot be read was answered before. Another answer would be taken for the next one's. */
function isAnswered({ _httpMessage, parser }: HttpSocket): boolean {
	return !_httpMessage && parser?.incoming?.complete === false;
}

/** What else comes meanwhile must not close the connection before the answer is sent. */
function closeAfter(socket: Socket): void {
	closing.add(socket);
	socket.end();
	setTimeout(() => socket.destroy(), lingerMs).unref();
}
