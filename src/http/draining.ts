import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ServerHttp2Stream } from 'node:http2';

/** RFC 9113, 6.8: a first GOAWAY that refuses no stream, so that none that is on its way is lost. */
const everyStream = 2 ** 31 - 1;

/** Answers this request, and has whoever sent it open another connection, to another server, for the next. */
export function drainConnection(
	{ stream }: IncomingMessage & { stream?: ServerHttp2Stream },
	response: ServerResponse,
): void {
	if (stream) stream.session?.goaway(0, everyStream);
	else response.setHeader('connection', 'close');
}
