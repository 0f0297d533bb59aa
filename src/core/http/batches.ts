import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Writable } from 'node:stream';

/** Bounds how long the first request of a batch waits until the others have been handled, and its answer is sent. */
const maxBatch = 64;

/**
 * Handles requests that have arrived together in one go, and sends the answers that are ready at the same time together.
 * Node would read, handle and answer one after the other. Then each answer wakes a client, and the kernel's code, which
 * every answer runs through, displaces the service's from the processor's caches. Batches halve the cost of a short request.
 * @param handle is not called for a request whose connection is gone
 * @param inOneGo calls its argument, which handles a batch
 * @returns a listener for events with a request and its response
 */
export function inBatches(
	server: Server,
	handle: RequestListener,
	inOneGo: (handleAll: () => void) => void,
): RequestListener {
	const arrived: [IncomingMessage, ServerResponse][] = [];
	let held: Socket[] = [];
	const release = () => {
		const sockets = held;
		held = [];
		for (const socket of sockets) while (socket.writableCorked > 0) Writable.prototype.uncork.call(socket);
	};
	// Node corks the socket while it writes an answer, and then calls this.
	function hold(this: Socket): void {
		if (held.length === 0) setImmediate(release);
		held.push(this);
	}
	const handleBatch = () => {
		const batch = arrived.splice(0, maxBatch);
		if (arrived.length > 0) setImmediate(handleBatch);
		inOneGo(() => {
			for (const [request, response] of batch) if (!request.destroyed) handle(request, response);
		});
		release();
	};
	// An HTTP/2 session does not write through the socket's stream, and collects its frames itself.
	for (const event of ['connection', 'secureConnection'])
		server.on(event, (socket: Socket) => {
			socket.uncork = hold;
		});
	// Node takes a connection whose answer is complete for idle, although it may not have been sent.
	const { closeIdleConnections } = server;
	server.closeIdleConnections = () => {
		release();
		closeIdleConnections.call(server);
	};
	return (request, response) => {
		if (arrived.length === 0) setImmediate(handleBatch);
		arrived.push([request, response]);
	};
}
