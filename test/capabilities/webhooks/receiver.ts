import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import type { Message } from './evaluated.ts';

/** A delivery, verified by the library of Standard Webhooks. */
export interface Received {
	readonly id: string;
	readonly signatures: number;
	readonly message: Message;
	readonly atMs: number;
}

/** The answer to a delivery: a status, or a function that answers. */
export type Answer = number | ((response: ServerResponse, request: IncomingMessage) => void);

/** A receiver of webhooks. */
export class Receiver {
	url = '';
	/** The webhook's secret. Without it, signatures are not verified. */
	secret: string | undefined;
	readonly received: Received[] = [];
	/** Deliveries with a wrong signature. */
	readonly problems: string[] = [];
	/** Answers the n-th delivery, from 0. */
	answer: (index: number) => Answer = () => 204;

	static async start({ closing }: { closing: AsyncDisposableStack }): Promise<Receiver> {
		const receiver = new Receiver();
		const server = createServer((request, response) => void receiver.#receive(request, response));
		server.listen(0, '127.0.0.1');
		await once(server, 'listening');
		closing.defer(() => {
			server.close();
			server.closeAllConnections();
		});
		receiver.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`;
		return receiver;
	}

	async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
		let body = '';
		for await (const chunk of request.setEncoding('utf8')) body += chunk;
		const { headers } = request;
		try {
			if (this.secret !== undefined) new Webhook(this.secret).verify(body, headers as Record<string, string>);
		} catch (error) {
			this.problems.push(String(error));
		}
		const index = this.received.length;
		this.received.push({
			id: String(headers['webhook-id']),
			signatures: String(headers['webhook-signature']).split(' ').length,
			message: JSON.parse(body),
			atMs: performance.now(),
		});
		const answer = this.answer(index);
		if (typeof answer === 'number') response.writeHead(answer).end();
		else answer(response, request);
	}

	get types(): string[] {
		return this.received.map(({ message }) => message.type);
	}
}
