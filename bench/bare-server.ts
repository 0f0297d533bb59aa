/**
 * A baseline: the throughput of `node:http` alone. Runs as a separate process that takes one answer as JSON and gives it
 * to every request. With `parse` it first reads and parses the body as JSON. Without it, it ignores the body.
 * Prints its URL.
 */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface BareAnswer {
	readonly status: number;
	/** Names and values, alternating. */
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
