import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { openStore } from '../../src/assembly/open-store.ts';
import { type IdKind, signId } from '../../src/core/domain/signed-id.ts';
import type { StoredHit } from '../../src/core/domain/stored-hit.ts';
import type { SubscriptionEvent } from '../../src/core/domain/subscription-event.ts';
import { ServeProcess } from '../process.ts';
import { addClient, browserUserAgent } from '../support.ts';
import { type BrowserHit, Service } from './service.ts';

/** Up to so long after a request was sent, or work was left to the background, the server is killed. */
const maxLifeMs = 40;
/** How often a server is killed, of the times that it could be. */
const killShare = 0.1;
/** How far the clocks of a server and its database may be apart. */
const maxClockErrorMs = 1000;
/** Requests under way at once. */
const maxAtOnce = 50;

/** An account on a server in another process, which is killed now and then. Time is real. */
export class KilledService extends Service {
	readonly #address: string;
	readonly #aid: string;
	readonly #key: string;
	/** The account believes only what is signed. */
	readonly #secret: string;
	readonly #random: () => number;
	#server: ServeProcess;
	kills = 0;

	private constructor(
		account: Service,
		client: { readonly address: string; readonly aid: string; readonly key: string; readonly secret: string },
		server: ServeProcess,
		random: () => number,
	) {
		super(account.store, account.accountId);
		this.#address = client.address;
		this.#aid = client.aid;
		this.#key = client.key;
		this.#secret = client.secret;
		this.#server = server;
		this.#random = random;
	}

	/** @param address of an empty database */
	static async start(address: string, random: () => number): Promise<KilledService> {
		const store = await openStore(address);
		const { aid, key } = await addClient(store);
		const { id: accountId } = await store.control.account(aid);
		const secret = await store.control.identitySecret(accountId);
		const account = { store, accountId } as Service;
		return new KilledService(account, { address, aid, key, secret }, await serve(address), random);
	}

	async [Symbol.asyncDispose](): Promise<void> {
		await this.#server.kill();
		await this.store.close();
	}

	pass(): number {
		return Date.now();
	}

	timeOf(): number {
		return Date.now() - maxClockErrorMs;
	}

	/** Does something while the server lives, and perhaps kills it meanwhile. */
	async #perhapsKilled<T>(during: () => Promise<T>): Promise<T> {
		if (this.#random() > killShare) return during();
		const killed = delay(this.#random() * maxLifeMs).then(() => this.#server.kill('SIGKILL'));
		const outcome = await during();
		await killed;
		this.kills++;
		this.#server = await serve(this.#address);
		return outcome;
	}

	/** @returns undefined if the server died */
	async #post(path: string, body: object): Promise<Response | undefined> {
		const headers = {
			'content-type': 'application/json',
			'user-agent': browserUserAgent,
			'x-api-key': this.#key,
		};
		try {
			const answer = await fetch(this.#server.url + path, {
				method: 'POST',
				headers,
				body: JSON.stringify({ aid: this.#aid, ...body }),
			});
			assert.ok(answer.status === 200 || answer.status === 201, `${path}: ${answer.status}`);
			return answer;
		} catch (error) {
			if (error instanceof TypeError) return undefined;
			throw error;
		}
	}

	async #hit({ vid, firstVid, sid, body, seed }: BrowserHit): Promise<StoredHit | undefined> {
		const { url, referrer, title, isCidUnproven } = body;
		const shown = (kind: IdKind, id: string, isUnproven?: true) =>
			isUnproven ? id : signId(this.#secret, kind, id);
		const cid = body.cid === null ? null : shown('cid', body.cid, isCidUnproven);
		const events = body.events.map(({ tid, isTidUnproven, ...event }) => ({
			...event,
			...(tid !== undefined && { tid: shown('tid', tid, isTidUnproven) }),
		}));
		const answer = await this.#post('/hit', { vid, firstVid, sid, seed, url, referrer, title, events, cid });
		// The server may die before the answer is complete.
		const stored = await answer?.json().catch(() => undefined);
		return stored as StoredHit | undefined;
	}

	storeHits(hits: readonly BrowserHit[]): Promise<readonly (StoredHit | undefined)[]> {
		return this.#perhapsKilled(async () => {
			const stored: (StoredHit | undefined)[] = [];
			for (let from = 0; from < hits.length; from += maxAtOnce) {
				const some = hits.slice(from, from + maxAtOnce);
				stored.push(...(await Promise.all(some.map((hit) => this.#hit(hit)))));
			}
			return stored;
		});
	}

	/** Tries until it succeeds, as clients do. */
	async upload(events: readonly SubscriptionEvent[], _atMs: number, simulate: boolean): Promise<undefined> {
		const data = events.map(({ cid, ...event }) => (cid === null ? event : { ...event, cid }));
		while (!(await this.#perhapsKilled(() => this.#post('/subscription', { data, simulate }))));
		return undefined;
	}

	/** The server does it by itself. */
	async fold(): Promise<void> {
		await this.#perhapsKilled(async () => {});
	}
}

function serve(address: string): Promise<ServeProcess> {
	const free = ['--hits-per-address', '1000000', '--hits-per-visitor', '1000000'];
	return ServeProcess.start(['--database', address, ...free]);
}
