import { isUtf8 } from 'node:buffer';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '../errors.ts';

/** Largest body of a request, in bytes. */
export const bodyLimitBytes = 256 * 1024;

interface BodyRules {
	readonly maxBytes: number;
	/** Whether `text/plain` may hold JSON: what a page sends so needs no leave from the server first. */
	readonly plainText: boolean;
}

const uploadRules: BodyRules = { maxBytes: bodyLimitBytes, plainText: false };

/**
 * Checks what the headers say of the body, before any of it is read.
 * @throws ApiError `payload_too_large`, `unsupported_media_type`
 */
export function checkBodyHeaders(
	headers: Readonly<Record<string, string | string[] | undefined>>,
	{ maxBytes, plainText }: BodyRules = uploadRules,
): void {
	if (Number(headers['content-length']) > maxBytes) throw payloadTooLarge(maxBytes);
	const contentType = headers['content-type'];
	if (!isInUtf8(contentType, 'application/json') && !(plainText && isInUtf8(contentType, 'text/plain')))
		throw new ApiError('unsupported_media_type', {
			detail: `content-type must be application/json${plainText ? ' or text/plain' : ''}, in UTF-8`,
		});
	const encoding = headers['content-encoding'];
	if (encoding !== undefined && encoding !== 'identity')
		throw new ApiError('unsupported_media_type', {
			detail: 'the body must not be compressed: leave content-encoding out',
			headers: { 'accept-encoding': 'identity' },
		});
}

/** Tells a client that waits for it to send its body now. HTTP/1.0 knows no interim answers. */
export function askForBody({ headers, raw }: FastifyRequest, reply: FastifyReply): void {
	if (headers.expect?.toLowerCase() === '100-continue' && raw.httpVersion !== '1.0' && !reply.sent)
		reply.raw.writeContinue();
}

export function payloadTooLarge(maxBytes = bodyLimitBytes): ApiError {
	return new ApiError('payload_too_large', { detail: `the body may have at most ${maxBytes} bytes` });
}

/** Longer than any that a client writes; it may hold thousands of parameters. */
const maxTypeCharacters = 200;

/** A media type, with no charset or with UTF-8; other parameters mean nothing and are ignored. */
function isInUtf8(contentType: string | string[] | undefined, wanted: string): boolean {
	if (contentType === wanted) return true;
	if (typeof contentType !== 'string' || contentType.length > maxTypeCharacters) return false;
	const [mediaType, ...parameters] = contentType.toLowerCase().split(';');
	if (mediaType?.trim() !== wanted) return false;
	return parameters.every((parameter) => {
		const [name, value] = parameter.split('=');
		return name?.trim() !== 'charset' || /^\s*"?utf-?8"?\s*$/.test(value ?? '');
	});
}

/**
 * The JSON value of a body. A byte order mark is skipped, as RFC 8259 allows; of a name that comes twice in an
 * object, the last counts.
 * @throws ApiError `malformed_json`, which says why without showing the body
 */
export function parseJson(body: Buffer): unknown {
	if (body.length === 0) throw malformed('the body is empty');
	if (!isUtf8(body)) throw malformed('the body is not UTF-8');
	const text = body.toString('utf8', hasByteOrderMark(body) ? 3 : 0);
	try {
		return JSON.parse(text);
	} catch (error) {
		throw malformed(withoutExcerpt((error as SyntaxError).message));
	}
}

function hasByteOrderMark(body: Buffer): boolean {
	return body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf;
}

function malformed(detail: string): ApiError {
	return new ApiError('malformed_json', { detail });
}

/** The parser's message, without the piece of the body that it shows: that may be somebody's customer id. */
function withoutExcerpt(message: string): string {
	return message.replace(/(^Unexpected token) .*$/s, '$1 in JSON').slice(0, 200);
}
