import { isAscii, isUtf8 } from 'node:buffer';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '../errors.ts';
import { parseExactJson } from '../format/exact-json.ts';

/** Maximum size of a request body, in bytes. */
export const bodyLimitBytes = 256 * 1024;

interface BodyRules {
	readonly maxBytes: number;
	/** Whether JSON may be sent as `text/plain`, which browsers send across origins without a preflight. */
	readonly plainText: boolean;
}

const uploadRules: BodyRules = { maxBytes: bodyLimitBytes, plainText: false };

/**
 * Checks the headers that describe the body, before any of it is read.
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
	if (encoding !== undefined && (typeof encoding !== 'string' || !/^(identity)?$/i.test(encoding.trim())))
		throw new ApiError('unsupported_media_type', {
			detail: 'the body must not be compressed: leave content-encoding out',
			headers: { 'accept-encoding': 'identity' },
		});
}

/** Sends `100 Continue` to a client that waits for it. HTTP/1.0 has no interim responses. */
export function askForBody({ headers, raw }: FastifyRequest, reply: FastifyReply): void {
	if (headers.expect?.toLowerCase() === '100-continue' && raw.httpVersion !== '1.0' && !reply.sent)
		reply.raw.writeContinue();
}

export function payloadTooLarge(maxBytes = bodyLimitBytes): ApiError {
	return new ApiError('payload_too_large', { detail: `the body may have at most ${maxBytes} bytes` });
}

/** Longer than any real media type. A crafted one could hold thousands of parameters. */
const maxTypeCharacters = 200;

/** As browsers send it with every hit. */
const plainTextOfBrowsers = 'text/plain;charset=UTF-8';

/** Whether the media type is the expected one, with no charset or with UTF-8. Other parameters are ignored. */
function isInUtf8(contentType: string | string[] | undefined, expected: string): boolean {
	if (contentType === expected) return true;
	if (contentType === plainTextOfBrowsers) return expected === 'text/plain';
	if (typeof contentType !== 'string' || contentType.length > maxTypeCharacters) return false;
	const [mediaType, ...parameters] = contentType.toLowerCase().split(';');
	if (mediaType?.trim() !== expected) return false;
	return parameters.every((parameter) => {
		const [name, value] = parameter.split('=');
		return name?.trim() !== 'charset' || /^\s*"?utf-?8"?\s*$/.test(value ?? '');
	});
}

/**
 * Parses a JSON body. Skips a byte order mark, as RFC 8259 allows. The last of several members with the same name wins. A number
 * with more digits than a double can hold is `NaN`, which no schema accepts.
 * @throws ApiError `malformed_json`, which gives the reason without quoting the body
 */
export function parseJson(body: Buffer | undefined): unknown {
	if (!body?.length) throw malformed('the body is empty');
	if (!isUtf8(body)) throw malformed('the body is not UTF-8');
	const text = body.toString('utf8', hasByteOrderMark(body) ? 3 : 0);
	try {
		return parseExactJson(text);
	} catch (error) {
		throw malformed(
			error instanceof RangeError
				? 'it is nested too deeply'
				: withoutExcerpt((error as SyntaxError).message),
		);
	}
}

/**
 * Whether no text in this JSON can have a control character or half of a surrogate pair, as in most bodies: neither stands in ASCII
 * without an escape, but for DEL. To look at all bytes at once costs a tenth of looking at each text.
 */
export function hasPlainTexts(json: Buffer): boolean {
	return isAscii(json) && !json.includes(backslash) && !json.includes(del);
}

const backslash = 0x5c;
const del = 0x7f;

function hasByteOrderMark(body: Buffer): boolean {
	return body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf;
}

function malformed(detail: string): ApiError {
	return new ApiError('malformed_json', { detail });
}

/** Removes the excerpt of the body from the parser's message, because it may contain a customer id. */
function withoutExcerpt(message: string): string {
	return message.replace(/(^Unexpected token) .*$/s, '$1 in JSON').slice(0, 200);
}
