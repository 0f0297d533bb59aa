import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

/** A name or an address, with or without a port (RFC 9110, section 7.2); empty where the target has none. */
const hostPattern = /^([\w.~!$&'()*+,;=%-]*|\[[\w.~!$&'()*+,;=:-]+\])(:\d*)?$/;

/**
 * What Node's parser of HTTP/1.1 lets through: other versions, and requests whose host is unclear (RFC 9112, section 3.2).
 * Over HTTP/2 Node checks both.
 */
export function malformation(request: IncomingMessage): string | undefined {
	if ('stream' in request) return undefined;
	const { httpVersion, headers, rawHeaders } = request;
	if (httpVersion !== '1.1' && httpVersion !== '1.0') return 'the version must be HTTP/1.1 or HTTP/1.0';
	if (headers.host === undefined) return httpVersion === '1.1' ? 'the host header is required' : undefined;
	let hosts = 0;
	for (let at = 0; at < rawHeaders.length; at += 2) {
		const name = rawHeaders[at] as string;
		if (name.length === 4 && name.toLowerCase() === 'host') hosts++;
	}
	if (hosts > 1) return 'the host header may come once';
	return hostPattern.test(headers.host) ? undefined : 'the host header is not a host';
}

/** Bytes read from a connection when its last request came. */
const bytesReadBefore = new WeakMap<Socket, number>();

/**
 * Whether a request line is written otherwise than with single spaces and a version, which Node's parser allows. To be
 * asked once for each request, while the parser reads the line. A line that came in pieces passes, and one that came
 * together with the request before it: the parser does not say where it begins.
 */
export function hasLooseLine(request: IncomingMessage): boolean {
	const { socket, method, url } = request;
	if (request.httpVersionMajor > 1 || hasTidyLength(request)) return false;
	const { parser } = socket as Socket & { parser?: { getCurrentBuffer(): Buffer } };
	const line = parser?.getCurrentBuffer().toString('latin1').trimStart() ?? '';
	return line.startsWith(`${method} `) && !line.startsWith(`${method} ${url} HTTP/`);
}

/** What a request line and the end of the headers have besides a method and a target. */
const lineBytes = '  HTTP/1.1\r\n\r\n'.length;

/**
 * Whether all that was read since the request before is as long as this request, written with single spaces. It spares
 * most requests the look at their line, which costs 3 µs.
 */
function hasTidyLength({ socket, method = '', url = '', rawHeaders, headers }: IncomingMessage): boolean {
	const { bytesRead } = socket;
	const bytes = bytesRead - (bytesReadBefore.get(socket) ?? 0);
	bytesReadBefore.set(socket, bytesRead);
	let headBytes = method.length + url.length + lineBytes + 2 * rawHeaders.length;
	for (let at = 0; at < rawHeaders.length; at++) headBytes += (rawHeaders[at] as string).length;
	return bytes === 0 || bytes === headBytes || bytes === headBytes + Number(headers['content-length']);
}
