import { Agent, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

/** An upload and its outcome. */
export interface SentUpload {
	readonly tids: readonly string[];
	/** Status of the answer; undefined if there was none. */
	status: number | undefined;
	/** Whether the answer was complete. */
	whole: boolean;
}

let loadNumber = 0;

/** Clients that upload in a closed loop, each on its own connection, until the server is gone. */
export class UploadLoad {
	readonly sent: SentUpload[] = [];
	readonly #running: Promise<void>[];
	#stopped = false;

	constructor(options: {
		url: string;
		key: string;
		aid: string;
		connections: number;
		/** Number of events in the n-th upload of a connection. */
		events?: (n: number) => number;
		/** Pause between two uploads of a connection. */
		pauseMs?: number;
	}) {
		const number = ++loadNumber;
		const { url, key, aid, events = (n) => 1 + (n % 30), pauseMs = 0 } = options;
		this.#running = Array.from({ length: options.connections }, async (_, connection) => {
			const agent = new Agent({ keepAlive: true, maxSockets: 1 });
			for (let n = 0; !this.#stopped; n++) {
				const tids = Array.from(
					{ length: events(n) },
					(_, index) => `L${number}-${connection}-${n}-${index}`,
				);
				const upload: SentUpload = { tids, status: undefined, whole: false };
				this.sent.push(upload);
				await sendUpload(agent, url, key, aid, upload);
				if (!upload.whole) break;
				if (pauseMs > 0) await delay(pauseMs);
			}
			agent.destroy();
		});
	}

	/** Resolves when `count` uploads have been answered. */
	async answered(count: number): Promise<void> {
		while (this.sent.filter(({ whole }) => whole).length < count) await delay(5);
	}

	/** Resolves when every client has given up, because the server is gone. */
	async over(): Promise<void> {
		await Promise.all(this.#running);
	}

	async stop(): Promise<void> {
		this.#stopped = true;
		await this.over();
	}

	withStatus(status: number | undefined): SentUpload[] {
		return this.sent.filter((upload) => upload.status === status);
	}
}

function sendUpload(agent: Agent, url: string, key: string, aid: string, upload: SentUpload): Promise<void> {
	const data = upload.tids.map((tid) => ({ tid, subid: tid, evt: 'newsletter', rvn: 499 }));
	const body = JSON.stringify({ aid, data });
	const headers = {
		'x-api-key': key,
		'content-type': 'application/json',
		'content-length': Buffer.byteLength(body),
	};
	return new Promise((resolve) => {
		const sent = request(`${url}/subscription`, { agent, method: 'POST', headers }, (response) => {
			upload.status = response.statusCode;
			response.on('end', () => {
				upload.whole = response.complete;
			});
			response.on('close', resolve);
			response.resume();
		});
		sent.on('error', () => resolve());
		sent.end(body);
	});
}
