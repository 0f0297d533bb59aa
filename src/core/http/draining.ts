import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ServerHttp2Stream } from 'node:http2';

/** RFC 9113, section 6.8: a first GOAWAY with the highest stream id refuses no stream, so none in flight is lost. */
const maxStreamId = 2 ** 31 - 1;

/** Asks the client to open a new connection, to another server, after this answer. */
export function drainConnection(
	{ stream }: IncomingMessage & { stream?: ServerHttp2Stream },
	response: ServerResponse,
): void {
	if (stream) stream.session?.goaway(0, maxStreamId);
	else response.setHeader('connection', 'close');
}
