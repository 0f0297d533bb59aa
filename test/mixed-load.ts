import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { Agent, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { storeHistory } from '../src/capabilities/history/store/past-history.ts';
import { eraseVisitor } from '../src/capabilities/visitors/store/erasure.ts';
import { rebuildAll } from '../src/capabilities/visitors/store/rebuilding.ts';
import type { OpenStore } from '../src/core/store/store.ts';
import { rowsIn } from './core/store/rows.ts';

/** Pause between two imports, and between two erasures. */
const pauseMs = 20;
/** After this many sessions a new visitor takes over, so that logs stay short. */
const sessionsPerVisitor = 10;

export interface MixedLoadOptions {
	readonly url: string;
	readonly aid: string;
	readonly key: string;
	readonly store: OpenStore;
	readonly accountId: number;
	/** Concurrent visitors. */
	readonly visitors: number;
	/** Also runs reads, imports, erasures, and visitors who show another's `sid`. */
	readonly withOthers?: boolean;
}

interface Seen {
	readonly vid: string;
	readonly sid: string;
	readonly cask: string;
}

/**
 * Visitors who log in, look at three pages and check out while their sale is uploaded, again and again. Records the
 * answers and compares them with what is stored.
 */
export class MixedLoad {
	/** Hits answered with 200. */
	hits = 0;
	/** Uploads answered with 201. */
	uploads = 0;
	reads = 0;
	imports = 0;
	erasures = 0;
	/** All other answers. */
	readonly failures: string[] = [];
	readonly hitLatenciesMs: number[] = [];
	readonly uploadLatenciesMs: number[] = [];
	readonly #options: MixedLoadOptions;
	readonly #agent = new Agent({ keepAlive: true });
	readonly #run = randomBytes(4).toString('hex');
	/** The visitor who started each sale, by `tid`. */
	readonly #ownerOf = new Map<string, string>();
	readonly #hitsOf = new Map<string, number>();
	readonly #erased = new Set<string>();
	#number = 0;
	#stopped = false;

	constructor(options: MixedLoadOptions) {
		this.#options = options;
	}

	/** Ends the load after the current sessions. */
	stop(): void {
		this.#stopped = true;
	}

	/** Resolves when every visitor has had its sessions, or after `stop`. */
	async run(sessions = Number.POSITIVE_INFINITY): Promise<void> {
		const visitors = Array.from({ length: this.#options.visitors }, () => this.#visitor(sessions));
		const over = Promise.all(visitors);
		const withOthers = this.#options.withOthers ? [this.#importing(over), this.#erasing(over)] : [];
		await over;
		await Promise.all(withOthers);
		this.#agent.destroy();
	}

	async #visitor(sessions: number): Promise<void> {
		let seen: Seen | undefined;
		for (let session = 0; session < sessions && !this.#stopped; session++) {
			if (session % sessionsPerVisitor === 0) seen = undefined;
			seen = await this.#session(seen);
		}
	}

	async #session(before: Seen | undefined): Promise<Seen | undefined> {
		const name = this.#name();
		let seen = await this.#hit({ cid: `C-${name}`, url: 'https://shop.example/login' }, before);
		for (const page of ['news', 'sport', 'pricing'])
			seen = await this.#hit({ url: `https://shop.example/${page}` }, seen);
		const [last] = await Promise.all([this.#checkOut(name, seen), this.#upload(name)]);
		if (this.#options.withOthers && last) await this.#read(last);
		return last;
	}

	async #checkOut(name: string, seen: Seen | undefined): Promise<Seen | undefined> {
		const last = await this.#hit({ events: [{ name: 'order', tid: `T-${name}` }] }, seen);
		if (last) this.#ownerOf.set(`T-${name}`, last.vid);
		return last;
	}

	async #hit(fields: object, seen: Partial<Seen> = {}): Promise<Seen | undefined> {
		const { aid } = this.#options;
		const beganMs = performance.now();
		const answer = await this.#send('/hit', { aid, vid: seen.vid, sid: seen.sid, ...fields });
		this.hitLatenciesMs.push(performance.now() - beganMs);
		if (answer.status !== 200) {
			this.failures.push(`hit: ${answer.status} ${answer.text}`);
			return undefined;
		}
		this.hits++;
		const { vid, sid, cask } = JSON.parse(answer.text) as Seen;
		this.#hitsOf.set(vid, (this.#hitsOf.get(vid) ?? 0) + 1);
		return { vid, sid, cask };
	}

	async #upload(name: string): Promise<void> {
		const { aid } = this.#options;
		const event = { tid: `T-${name}`, subid: `S-${name}`, cid: `C-${name}`, evt: 'newsletter', rvn: 499 };
		const beganMs = performance.now();
		const answer = await this.#send('/subscription', { aid, data: [event] });
		this.uploadLatenciesMs.push(performance.now() - beganMs);
		if (answer.status === 201) this.uploads++;
		else this.failures.push(`upload: ${answer.status} ${answer.text}`);
	}

	async #read({ cask }: Seen): Promise<void> {
		const answer = await this.#send(`/visscores?cask=${cask}`);
		if (answer.status === 200) this.reads++;
		else this.failures.push(`read: ${answer.status} ${answer.text}`);
	}

	/** Imports other customers and sales. Half of the hits are stored with the events, half after them. */
	async #importing(over: Promise<unknown>): Promise<void> {
		const { store, accountId } = this.#options;
		for (const isOver = doneOf(over); !isOver(); ) {
			const names = Array.from({ length: 20 }, () => this.#name());
			const atMs = Date.UTC(2026, 0, 1);
			const hits = names.map((name) => {
				const vid = randomBytes(16).toString('hex');
				this.#ownerOf.set(`T-${name}`, vid);
				this.#hitsOf.set(vid, 1);
				const events = [{ name: 'order', tid: `T-${name}` }];
				const from = { page: 'shop', url: null, referrer: null, title: null };
				const body = { ...from, events, cid: `C-${name}`, channel: 'direct', device: 'desktop' };
				return { vid, sid: null, atMs, body };
			});
			const events = names.map((name) => ({
				tid: `T-${name}`,
				subid: name,
				cid: `C-${name}`,
				evt: 'newsletter',
				rvn: 1,
				receivedAtMs: atMs + 1000,
			}));
			await store.transact(accountId, () => storeHistory(hits.slice(0, 10), events));
			await store.transact(accountId, () => storeHistory(hits.slice(10), []));
			this.imports++;
			await delay(pauseMs);
		}
	}

	/** Erases visitors while they, and others who show their `sid`, keep sending hits. */
	async #erasing(over: Promise<unknown>): Promise<void> {
		const { store, accountId } = this.#options;
		for (const isOver = doneOf(over); !isOver(); ) {
			const name = this.#name();
			const seen = await this.#hit({ cid: `C-${name}`, title: 'private' });
			const other = await this.#hit({ url: 'https://shop.example/' });
			if (!seen || !other) return;
			await Promise.all([
				this.#hit({ events: [{ name: 'order', tid: `T-${name}` }] }, seen),
				this.#upload(name),
			]);
			const goOn = async (fields: object, shown: Partial<Seen>) => {
				for (let n = 0; n < 5; n++) await this.#hit(fields, shown);
			};
			const thief = { vid: other.vid, sid: seen.sid };
			const hits = [goOn({ title: 'private' }, seen), goOn({ cid: `C-${name}` }, seen), goOn({}, thief)];
			await eraseVisitor(store, accountId, seen.vid);
			await Promise.all(hits);
			this.#erased.add(seen.vid);
			this.erasures++;
			await delay(pauseMs);
		}
	}

	#name(): string {
		return `${this.#run}-${this.#number++}`;
	}

	#send(path: string, body?: object): Promise<{ status: number; text: string }> {
		const content = body && JSON.stringify(body);
		const headers = content && {
			'content-type': 'application/json',
			'content-length': Buffer.byteLength(content),
			'x-api-key': this.#options.key,
			'user-agent':
				'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/142.0.0.0 Safari/537.36',
		};
		return new Promise((resolve, reject) => {
			const sent = request(
				this.#options.url + path,
				{ agent: this.#agent, method: content ? 'POST' : 'GET', ...(headers && { headers }) },
				(response) => {
					let text = '';
					response.setEncoding('utf8').on('data', (piece) => {
						text += piece;
					});
					response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
					response.on('error', reject);
				},
			);
			sent.on('error', reject);
			sent.end(content);
		});
	}

	/** Compares what was answered with what is stored. @throws AssertionError */
	async check(): Promise<void> {
		const { store, accountId } = this.#options;
		assert.deepEqual(this.failures.slice(0, 5), []);
		const events = await rowsIn(store, accountId, 'subscription_event');
		const visitors = await rowsIn(store, accountId, 'visitor');
		const ownerOf = new Map(events.map(({ tid, vid }) => [tid, vid]));
		const strangers = [...this.#ownerOf].filter(([tid, vid]) => ownerOf.get(tid) !== vid);
		assert.deepEqual(strangers, [], 'sales that are not with the visitors who started them');
		const stored = new Map(visitors.map(({ vid, profile }) => [vid, JSON.parse(String(profile)).hits]));
		const wrong = [...this.#hitsOf].filter(
			([vid, hits]) => !this.#erased.has(vid) && stored.get(vid) !== hits,
		);
		assert.deepEqual(wrong, [], 'visitors whose profile does not have as many hits as were answered');
		assert.deepEqual(await tracesOf(store, accountId, this.#erased), []);
		assert.equal((await rebuildAll(store, accountId)).changed, 0);
	}
}

function doneOf(over: Promise<unknown>): () => boolean {
	let isDone = false;
	over.finally(() => {
		isDone = true;
	});
	return () => isDone;
}

/** The tables that still contain a trace of these visitors. */
async function tracesOf(store: OpenStore, accountId: number, vids: ReadonlySet<string>): Promise<string[]> {
	const traces: string[] = [];
	for (const table of ['hit', 'visit', 'visitor', 'claim', 'subscription_event'] as const)
		for (const { vid } of await rowsIn(store, accountId, table))
			if (vids.has(String(vid))) traces.push(`${table} ${vid}`);
	return traces;
}
