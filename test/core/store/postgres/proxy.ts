import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/**
 * What happens to the connection of the next upload's COMMIT. Before: the server never receives it. After: the server
 * executes it, and its answer never arrives. Cut: both ends are told. Half-open: neither is. Lost: what the client
 * sends vanishes, what the server sends arrives. Denied: the client gets Citus's error for a node lost in between; with
 * `denied before` the server rolls back.
 */
export type CommitFault = `${'cut' | 'half-open' | 'denied'} ${'before' | 'after'}` | 'lost before';

const deniedCommit = errorMessage(
	'XX000',
	'could not commit transaction for shard 102008 on at least one active node',
);

/** A server's ErrorResponse, followed by ReadyForQuery. */
function errorMessage(code: string, message: string): Buffer {
	const fields = Buffer.from(`SERROR\0VERROR\0C${code}\0M${message}\0\0`);
	const length = Buffer.alloc(4);
	length.writeInt32BE(4 + fields.length);
	return Buffer.concat([Buffer.from('E'), length, fields, Buffer.from('Z\0\0\0\x05I')]);
}

interface Link {
	readonly client: Socket;
	readonly server: Socket;
	/** Data from either side vanishes silently. */
	dead: boolean;
	/** Whether the server has sent the last piece of data. */
	isAnswered: boolean;
	/** Whether uploads or hits have passed, so that the next COMMIT is theirs. */
	stores: boolean;
	/** Whether the COMMIT has passed and its answer must not. */
	fault: CommitFault | undefined;
}

/** A proxy between Caskade and PostgreSQL that fails in every way that a test needs. */
export class PostgresProxy implements AsyncDisposable {
	/** The database's address through this proxy. */
	readonly address: string;
	/** How long data takes to the server and back: half of it, in whole milliseconds, in either direction. */
	roundTripMs = 0;
	/** How often a client sent something after an answer, over all connections. */
	roundTrips = 0;
	/** Applies to one COMMIT, then is cleared. */
	commitFault: CommitFault | undefined;
	/** Cuts every connection that sends a statement with this text, which must fit into a packet. */
	cutsStatement: string | undefined;
	/** The start of a statement that the server is to refuse once. The proxy removes its first letter. */
	refusedStatement: string | undefined;
	/** Cuts the next connection that sends a statement with this text, when the server answers. Applies once. */
	losesAnswerTo: string | undefined;
	/** Whether all further data is dropped once a COMMIT has met its fault. */
	refusesAfterFault = false;
	readonly #listener: Server;
	readonly #target: { host: string; port: number };
	readonly #links = new Set<Link>();
	readonly #counted = new Map<string, number>();
	#vanished = false;
	#refusing = false;
	#stalled: 'both ways' | 'answers' | undefined;

	private constructor(listener: Server, target: string) {
		const { hostname, port } = new URL(target);
		this.#target = { host: hostname, port: Number(port || 5432) };
		this.#listener = listener;
		listener.on('connection', (client) => this.#link(client));
		const address = new URL(target);
		address.host = `127.0.0.1:${(listener.address() as AddressInfo).port}`;
		this.address = address.href;
	}

	static async start(target: string): Promise<PostgresProxy> {
		const listener = createServer({ allowHalfOpen: true, noDelay: true });
		listener.listen(0, '127.0.0.1');
		await once(listener, 'listening');
		return new PostgresProxy(listener, target);
	}

	get connections(): number {
		return this.#links.size;
	}

	/** How often a statement with that text was sent. The text must fit into a packet. */
	sent(text: string): number {
		if (!this.#counted.has(text)) this.#counted.set(text, 0);
		return this.#counted.get(text) as number;
	}

	/** Ends every connection; new ones are accepted. */
	cut(): void {
		for (const link of this.#links) this.#end(link);
	}

	/** Ends every connection and refuses new ones until `restore`, like a server that is down. */
	refuse(): void {
		this.#refusing = true;
		this.cut();
	}

	/** Holds back data from both sides, or only from the server, until `restore`. */
	stall(which: 'both ways' | 'answers' = 'both ways'): void {
		this.#stalled = which;
		for (const link of this.#links) this.#hold(link);
	}

	/** Drops all data without closing anything; new connections are silent too, until `restore`. */
	vanish(): void {
		this.#vanished = true;
		for (const link of this.#links) link.dead = true;
	}

	/** Ends all faults. Data that was held back is delivered; dropped data is lost. */
	restore(): void {
		this.#refusing = false;
		this.#vanished = false;
		this.#stalled = undefined;
		this.roundTripMs = 0;
		this.commitFault = undefined;
		this.cutsStatement = undefined;
		this.refusedStatement = undefined;
		this.refusesAfterFault = false;
		for (const { client, server } of this.#links) {
			client.resume();
			server.resume();
		}
	}

	#link(client: Socket): void {
		if (this.#refusing) {
			client.on('error', () => {});
			client.resetAndDestroy();
			return;
		}
		const link: Link = {
			client,
			server: connect({ ...this.#target, allowHalfOpen: true, noDelay: true }),
			dead: this.#vanished,
			isAnswered: true,
			stores: false,
			fault: undefined,
		};
		this.#links.add(link);
		client.on('data', (data) => this.#fromClient(link, data as Buffer));
		link.server.on('data', (data) => this.#fromServer(link, data as Buffer));
		for (const [socket, other] of [
			[client, link.server],
			[link.server, client],
		] as const) {
			socket.on('error', () => {});
			// On a dead connection, neither side learns that the other has closed.
			socket.on('end', () => {
				if (!link.dead) other.end();
			});
			socket.on('close', () => {
				if (!link.dead) other.destroy();
				if (client.destroyed && link.server.destroyed) this.#links.delete(link);
			});
		}
		if (this.#stalled) this.#hold(link);
	}

	#hold({ client, server }: Link): void {
		server.pause();
		if (this.#stalled === 'both ways') client.pause();
	}

	#fromClient(link: Link, data: Buffer): void {
		if (link.isAnswered) this.roundTrips++;
		link.isAnswered = false;
		for (const [text, count] of this.#counted)
			this.#counted.set(text, count + data.toString('latin1').split(text).length - 1);
		if (this.cutsStatement !== undefined && data.includes(this.cutsStatement)) {
			this.#end(link);
			return;
		}
		this.#spoilRefused(data);
		if (this.losesAnswerTo !== undefined && data.includes(this.losesAnswerTo)) {
			this.losesAnswerTo = undefined;
			link.fault = 'cut after';
		}
		link.stores ||= data.includes('/* store uploads */') || data.includes('/* store hits */');
		if (this.commitFault && link.stores && data.includes('COMMIT\0')) {
			link.fault = this.commitFault;
			this.commitFault = undefined;
			if (link.fault === 'denied before') data.write('ABORT ', data.indexOf('COMMIT\0'));
			if (link.fault === 'cut before') this.#end(link);
			if (link.fault === 'cut before' || link.fault === 'half-open before') link.dead = true;
		}
		if (link.fault !== 'lost before') this.#pass(link, link.server, data);
	}

	/** Replaces the first letter of the statement by a space, which keeps the length but makes the SQL invalid. */
	#spoilRefused(data: Buffer): void {
		const at = this.refusedStatement === undefined ? -1 : data.indexOf(this.refusedStatement);
		if (at === -1) return;
		data.write(' ', at);
		this.refusedStatement = undefined;
	}

	#fromServer(link: Link, data: Buffer): void {
		link.isAnswered = true;
		if (link.fault === 'cut after') {
			this.#end(link);
			if (this.refusesAfterFault) this.refuse();
		}
		if (link.fault?.startsWith('denied')) {
			link.fault = undefined;
			this.#pass(link, link.client, deniedCommit);
			return;
		}
		if (link.fault?.endsWith('after')) link.dead = true;
		this.#pass(link, link.client, data);
	}

	#pass(link: Link, to: Socket, data: Buffer): void {
		if (link.dead) return;
		const delayMs = Math[to === link.server ? 'floor' : 'ceil'](this.roundTripMs / 2);
		if (delayMs === 0) to.write(data);
		else setTimeout(() => to.write(data), delayMs);
	}

	#end({ client, server }: Link): void {
		client.destroy();
		server.destroy();
	}

	async [Symbol.asyncDispose](): Promise<void> {
		this.restore();
		this.#listener.close();
		this.cut();
		await once(this.#listener, 'close');
	}
}
