/**
 * The ceiling: what `node:http` itself can do here. A process of its own; takes an answer as JSON, gives that answer to
 * everything, byte for byte. With `parse` it reads and parses the body first, without it the headers are enough.
 * Prints its URL.
 */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface BareAnswer {
	readonly status: number;
	/** Names and values in turn. */
	readonly headers: readonly string[];
	readonly body: string;
	readonly parse: boolean;
}

const { status, headers, body, parse }: BareAnswer = JSON.parse(process.argv[2] as string);

function answer(response: ServerResponse): void {
	response.writeHead(status, headers as string[]);
	response.end(body);
}

const server = createServer((request, response) => {
	if (!parse) return answer(response);
	const chunks: Buffer[] = [];
	request.on('data', (chunk: Buffer) => chunks.push(chunk));
	request.on('end', () => {
		JSON.parse(Buffer.concat(chunks).toString());
		answer(response);
	});
});
server.listen(0, '127.0.0.1', () => {
	const { port } = server.address() as AddressInfo;
	process.stdout.write(`http://127.0.0.1:${port}\n`);
});
