import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import type { HistoryEvent } from '../../src/capabilities/history/store/past-history.ts';
import { erasable } from '../../src/capabilities/visitors/store/erasure.ts';
import { takeVisitorApart } from '../../src/capabilities/visitors/store/rebuilding.ts';
import { derivedVisitor } from '../../src/core/domain/derived-vid.ts';
import { maxSharing } from '../../src/core/domain/shared-key.ts';
import type { ArrivingHit, HistoryHit, HitRecord, StoredHit } from '../../src/core/domain/stored-hit.ts';
import type { SubscriptionEvent } from '../../src/core/domain/subscription-event.ts';
import { allShared } from '../../src/core/store/account/owners/shared-keys.ts';
import { foldAll } from '../../src/core/store/fold-all.ts';
import { addCrowd } from '../core/store/crowd.ts';
import { readStored } from '../core/store/stored-log.ts';
import { checkApart, sharedIn } from './apart.ts';
import { customerOf, type Happening, type History, people, type Sale, type Shown } from './history.ts';
import { customersOf, holdersOf, isNobody, ownersOf, touchesOf, wantedOf } from './model.ts';
import type { BrowserHit, Service } from './service.ts';

/** A hit that was sent. */
export interface SentHit {
	/** What was answered; undefined if nothing was. */
	stored: Partial<StoredHit> | undefined;
	readonly atMs: number;
	readonly cid: string | null;
	/** The keys that it shows. */
	readonly keys: readonly string[];
	/** Whether it must be stored; undefined where it may be. */
	isStored: boolean | undefined;
}

/** An event that was sent and answered. */
export interface SentEvent extends SubscriptionEvent {
	/** Undefined if only the service knows when it was received. */
	readonly atMs: number | undefined;
	cid: string | null;
}

/** A live hit may be dated later than its clock said by this much. */
export const maxMovedMs = 60_000;
/** Hits in one transaction. */
const maxGroup = 100;

const idOf = (name: string) => createHash('sha256').update(name).digest('hex').slice(0, 32);

/** Where visitors come from: channel, query of the landing page, referrer. */
const arrivals = [
	['direct', '', null],
	['email', '?utm_source=letter&utm_medium=email&utm_campaign=spring', null],
	['paid search', '?utm_source=search.example&utm_medium=cpc', 'https://www.search.example/'],
	['organic search', '', 'https://www.search.example/find'],
	['internal', '', 'https://shop.example/'],
	['referral', '', 'https://checkout.stripe.com/pay'],
	['social', '', 'https://social.example/'],
	['referral', '', 'https://www.news.example/today'],
] as const;

type Of<Does extends Happening['does']> = Extract<Happening, { does: Does }>;

function keysOf({ cid, events }: HitRecord): string[] {
	const keys = events.flatMap(({ tid }) => (tid === undefined ? [] : [`t:${tid}`]));
	return cid === null ? keys : [...keys, `c:${cid}`];
}

/** Plays a history, and remembers what was sent and answered. */
export class Playing {
	/** By title. */
	readonly hits = new Map<string, SentHit>();
	/** By `tid`, in order of arrival; the first with a `tid` counts. */
	readonly events = new Map<string, SentEvent>();
	/** How many had shown keys, by key. */
	readonly crowds = new Map<string, number>();
	readonly #service: Service;
	/** What browsers keep, by person. */
	readonly #cookies = new Map<number, StoredHit>();
	readonly #erased = new Set<string>();
	/** Whom seeds led to last, by person. */
	readonly #ofSeeds = new Map<number, string>();
	/** The visitors of other customers on browsers that were somebody's first. */
	readonly #derived = new Map<string, string>();
	/** The keys that too many share. */
	shared: ReadonlySet<string> = new Set();
	#nowMs: number;
	#number = 0;
	#secret = '';

	constructor(service: Service) {
		this.#service = service;
		this.#nowMs = service.pass(0);
	}

	get nowMs(): number {
		return this.#nowMs;
	}

	async play(history: History): Promise<void> {
		const { store, accountId } = this.#service;
		this.#secret = await store.control.visitorSecret(accountId);
		for (const happening of history) {
			this.#nowMs = this.#service.pass(happening.afterMs);
			await this.#do(happening);
		}
	}

	#do(happening: Happening): Promise<void> {
		switch (happening.does) {
			case 'browse':
				return this.#browse(happening);
			case 'log in':
				return this.#logIn(happening);
			case 'upload':
				return this.#upload(happening);
			case 'import':
				return this.#import(happening);
			case 'crowd':
				return this.#crowd(happening);
			case 'erase':
				return this.#erase(this.#vidOf(happening.who));
			case 'erase customer':
				return this.#eraseCustomer(customerOf(happening.cid));
			case 'prune':
				return this.#prune(happening);
			case 'fold':
				return this.#service.fold(happening.pieces);
		}
	}

	/** The first of them, or the last one, shows who it is. */
	#bodies({ hits, from = 0, tid, cid, isUnproven }: Shown & { hits: number; from?: number }): HitRecord[] {
		const [isTidUnproven, isCidUnproven] = [
			isUnproven === 'tid' || isUnproven === 'both',
			isUnproven === 'cid' || isUnproven === 'both',
		];
		const shows = this.#number % 2 ? 0 : hits - 1;
		return Array.from({ length: hits }, (_, place) => {
			const arrival = place === 0 ? from : place % 9 === 4 ? place : 4 * (place % 2);
			const [channel, query, referrer] = arrivals[arrival % arrivals.length] as (typeof arrivals)[number];
			const page = `/p${place % 70}`;
			const events = [
				...(place % 5 === 3 ? [{ name: 'look' }] : []),
				...(place === shows && tid !== null
					? [{ name: 'order', tid: `T-${tid}`, ...(isTidUnproven && { isTidUnproven }) }]
					: []),
			];
			return {
				page,
				url: `https://shop.example${page}${query}`,
				referrer,
				title: `hit ${this.#number++}`,
				events,
				cid: place === shows && cid !== null ? customerOf(cid) : null,
				...(place === shows && cid !== null && isCidUnproven && { isCidUnproven }),
				channel,
				device: place % 2 ? 'phone' : 'desktop',
			};
		});
	}

	#browse(browsing: Of<'browse'>): Promise<void> {
		const { who, everyMs, behindMs, arriving, visit, isNew, hasSeed } = browsing;
		if (isNew) this.#cookies.delete(who);
		const bodies = this.#bodies(browsing);
		const beganMs = this.#nowMs - behindMs;
		this.#nowMs = this.#service.pass((bodies.length - 1) * everyMs);
		return this.#view(who, bodies, { beganMs, everyMs, arriving, visit, hasSeed });
	}

	async #view(
		who: number,
		bodies: readonly HitRecord[],
		how: Pick<Of<'browse'>, 'everyMs' | 'arriving' | 'visit' | 'hasSeed'> & { readonly beganMs: number },
	): Promise<void> {
		const seed = idOf(`seed ${who}`);
		let cookie = this.#cookies.get(who);
		const stolen = this.#cookies.get((who + 1) % people)?.sid ?? null;
		const sids = { own: () => cookie?.sid ?? null, none: () => null, stolen: () => stolen };
		const isTogether = how.arriving === 'in one transaction';
		for (let from = 0; from < bodies.length; ) {
			// The first answer brings the cookie. Nobody waits for the answers to hundreds of hits.
			const isAtOnce = isTogether || (cookie && (how.arriving === 'at once' || from >= 5));
			const some = bodies.slice(from, isAtOnce ? from + maxGroup : from + 1);
			const hits = some.map(
				(body, place): BrowserHit => ({
					...(how.hasSeed && !cookie && { seed, derived: derivedVisitor(this.#secret, 'seed', seed) }),
					vid: cookie?.vid ?? null,
					firstVid: cookie?.firstVid ?? null,
					visitorSecret: this.#secret,
					sid: sids[how.visit](),
					body,
					// A group without a cookie is of one browser.
					freshVid: idOf(`visitor ${isTogether ? some[0]?.title : body.title}`),
					freshSid: idOf(`visit ${body.title}`),
					atMs: this.#service.timeOf(how.beganMs + (from + place) * how.everyMs),
				}),
			);
			const stored = await this.#service.storeHits(hits, isTogether ? 'in one transaction' : 'at once');
			const { shared: before } = this;
			await this.#lookAtShared();
			for (const [place, hit] of hits.entries())
				this.#checkVisitor(hit, stored[place], { group: hits, before, seeded: this.#ofSeeds.get(who) });
			for (const [place, hit] of hits.entries()) this.#sent(hit, stored[place]);
			const answered = stored.findLast((one) => one !== undefined);
			if (hits[0]?.seed && answered) this.#ofSeeds.set(who, answered.firstVid ?? answered.vid);
			cookie = answered ?? cookie;
			from += some.length;
		}
		if (cookie) this.#cookies.set(who, cookie);
	}

	async #logIn({ who, hits, event, by, arriving, isUnproven }: Of<'log in'>): Promise<void> {
		const { log } = await readStored(this.#service.store, this.#service.accountId);
		const subid = log.events[event % log.events.length]?.subid;
		const own = log.events.filter((one) => one.subid === subid).sort((a, b) => a.atMs - b.atMs);
		const first = own.find(({ rvn }) => rvn >= 0);
		const key = by === 'cid' && first?.cid ? `c:${first.cid}` : `t:${first?.tid}`;
		const shownAtMs = holdersOf(log).get(key)?.atMs ?? Number.POSITIVE_INFINITY;
		const [shows, ...others] = this.#bodies({ hits, tid: null, cid: null }) as [HitRecord, ...HitRecord[]];
		const name = key.slice(2);
		const shown = key.startsWith('c:')
			? { ...shows, cid: name, ...(isUnproven && { isCidUnproven: true as const }) }
			: {
					...shows,
					events: [{ name: 'order', tid: name, ...(isUnproven && { isTidUnproven: true as const }) }],
				};
		this.#cookies.delete(who);
		const beganMs = Math.min(this.#nowMs, shownAtMs - 1);
		await this.#view(who, [shown, ...others], {
			beganMs,
			everyMs: 1000,
			arriving,
			visit: 'none',
			hasSeed: false,
		});
	}

	#sent({ atMs, body }: ArrivingHit, stored: StoredHit | undefined): void {
		this.hits.set(String(body.title), {
			stored,
			atMs,
			cid: body.cid,
			keys: keysOf(body),
			isStored: stored && true,
		});
	}

	/**
	 * Whether whom a hit was given to is whom it must be given to, by what was answered before.
	 * @param group what was sent with it
	 * @param before the keys that too many shared before
	 * @param seeded whom its seed led to last
	 */
	#checkVisitor(
		{ vid, firstVid = null, seed, body: { cid, title } }: BrowserHit,
		stored: StoredHit | undefined,
		{
			group,
			before,
			seeded = null,
		}: {
			readonly group: readonly BrowserHit[];
			readonly before: ReadonlySet<string>;
			readonly seeded?: string | null | undefined;
		},
	): void {
		// While a key becomes shared, either may be.
		const isShared = (one: string) => this.shared.has(`c:${one}`);
		if (!stored || (cid !== null && isShared(cid) !== before.has(`c:${cid}`))) return;
		const isKnown = (one: string | null): one is string =>
			one !== null && this.hits.values().some((hit) => hit.stored?.vid === one && hit.isStored);
		if (vid !== null && this.#erased.has(vid) && stored.vid === vid)
			assert.fail(`${title} is of the erased visitor`);
		if (cid === null || isNobody(cid) || isShared(cid)) {
			const known = seed ? seeded : vid;
			if (isKnown(known)) assert.equal(stored.vid, known, `${title} is of the known visitor`);
			if (stored.firstVid !== undefined) assert.equal(stored.firstVid, firstVid);
			return;
		}
		const base = [firstVid, vid, seed ? seeded : null].find(isKnown);
		if (base === undefined) return;
		const shown = this.hits
			.values()
			.filter((hit) => hit.stored?.vid === base && hit.cid && !isNobody(hit.cid));
		const sure = new Set<string>();
		const perhaps = new Set(group.flatMap(({ body }) => (body.cid && !isNobody(body.cid) ? [body.cid] : [])));
		for (const hit of shown) {
			perhaps.add(hit.cid as string);
			if (hit.isStored && !isShared(hit.cid as string)) sure.add(hit.cid as string);
		}
		if (stored.vid === base)
			assert.ok(sure.size === 0 || perhaps.has(cid), `${title} of ${cid} is not of ${base}, who is another`);
		// A visitor may be erased, or its hits deleted, while this is the only one that is known of it.
		else if (stored.firstVid === base) {
			perhaps.delete(cid);
			assert.ok(perhaps.size > 0, `${title} of ${cid} is of ${base}, who is nobody else`);
			assert.ok(!sure.has(cid), `${title} of ${cid} is of ${base}`);
			const name = `${base} ${cid}`;
			const known = this.#derived.get(name);
			if (known !== undefined && !this.#erased.has(known))
				assert.equal(stored.vid, known, `${title} is of the one visitor of ${cid} on the browser of ${base}`);
			this.#derived.set(name, stored.vid);
		}
	}

	#events(sales: readonly Sale[]): SubscriptionEvent[] {
		return sales.map(({ tid, subid, cid, rvn, isGoodbye = false }) => ({
			tid: `T-${tid ?? `own-${this.#number++}`}`,
			subid: `S-${subid}`,
			cid: cid === null ? null : customerOf(cid),
			evt: isGoodbye ? 'goodbye' : subid % 2 ? 'membership' : 'newsletter',
			rvn,
		}));
	}

	#keep(event: SubscriptionEvent, atMs: number | undefined): void {
		if (!this.events.has(event.tid)) this.events.set(event.tid, { ...event, atMs });
	}

	async #upload({ sales, times, behindMs, isSimulated }: Of<'upload'>): Promise<void> {
		const renewals = Array.from({ length: times - 1 }, () => sales.map((sale) => ({ ...sale, tid: null })));
		const all = this.#events([sales, ...renewals].flat());
		for (let from = 0; from < all.length; from += 30) {
			const events = all.slice(from, from + 30);
			const atMs = await this.#service.upload(events, this.#nowMs - behindMs, isSimulated);
			if (!isSimulated) for (const event of events) this.#keep(event, atMs);
		}
	}

	async #import({ visitors, sales, isRepeated }: Of<'import'>): Promise<void> {
		const hits = visitors.flatMap(({ who, everyMs, behindMs, visit, ...shown }): HistoryHit[] => {
			const vid = this.#vidOf(who);
			const sid = visit === null ? null : idOf(`imported visit ${vid} ${visit}`);
			// Files with times in the future are refused.
			const beganMs = this.#nowMs - Math.max(behindMs, (shown.hits - 1) * everyMs);
			return this.#bodies(shown).map((body, place) => ({ vid, sid, body, atMs: beganMs + place * everyMs }));
		});
		const events = this.#events(sales).map(
			(event, place): HistoryEvent => ({
				...event,
				receivedAtMs: this.#nowMs - (sales[place]?.behindMs ?? 0),
			}),
		);
		for (let round = 0; round < (isRepeated ? 2 : 1); round++) await this.#service.import(hits, events);
		for (const { vid, atMs, body } of hits) {
			this.#erased.delete(vid);
			this.hits.set(String(body.title), {
				stored: { vid },
				atMs,
				cid: body.cid,
				keys: keysOf(body),
				isStored: true,
			});
		}
		for (const { receivedAtMs, ...event } of events) this.#keep(event, receivedAtMs);
	}

	async #lookAtShared(): Promise<void> {
		if (this.crowds.size > 0)
			this.shared = await this.#service.store.read(this.#service.accountId, allShared());
	}

	async #crowd({ key, short }: Of<'crowd'>): Promise<void> {
		const { store, accountId } = this.#service;
		await addCrowd(store, accountId, { key, short, atMs: this.#nowMs });
		this.crowds.set(key, maxSharing - short);
	}

	#vidOf(who: number): string {
		return this.#cookies.get(who)?.vid ?? idOf(`imported ${who}`);
	}

	async #erase(vid: string): Promise<void> {
		await this.#forget([vid]);
		await this.#service.erase(vid);
	}

	/** What an erasure does first: of visitors who have shown several customers, so that what is another's stays. */
	async #takeApart(cid: string): Promise<void> {
		const { store, accountId } = this.#service;
		await foldAll(store, accountId);
		const { log: before } = await readStored(store, accountId);
		const customers = customersOf(before);
		const shared = new Set([...sharedIn(before)].filter((vid) => customers.get(vid)?.has(cid)));
		if (shared.size === 0) return;
		const { shared: named = [] } = await erasable(store, accountId, { cid });
		assert.deepEqual(new Set(named), shared);
		for (const vid of shared) await takeVisitorApart(store, accountId, vid);
		const { log } = await readStored(store, accountId);
		checkApart(before, log, shared);
		for (const { vid, sid, body } of log.hits) {
			const hit = this.hits.get(String(body.title));
			if (hit && hit.stored?.vid !== vid) hit.stored = { ...hit.stored, vid, sid };
		}
	}

	async #eraseCustomer(cid: string): Promise<void> {
		await this.#takeApart(cid);
		const { log } = await readStored(this.#service.store, this.#service.accountId);
		const vids = new Set(
			[
				...log.hits.filter(({ body }) => body.cid === cid),
				...log.kept.links.filter(({ key }) => key === `c:${cid}`),
			].map(({ vid }) => vid),
		);
		await this.#forget([...vids].sort());
		for (const event of this.events.values()) if (event.cid === cid) event.cid = null;
		await this.#service.eraseCustomer(cid);
	}

	/** Of visitors, one after another: events that belong to the visitor lose their customer. */
	async #forget(vids: readonly string[]): Promise<void> {
		let { log } = await readStored(this.#service.store, this.#service.accountId);
		for (const vid of vids) {
			for (const [tid, owner] of ownersOf(log)) {
				const event = this.events.get(tid);
				if (owner.vid === vid && event) event.cid = null;
			}
			const gone = new Set(log.hits.filter((hit) => hit.vid === vid).map(({ body }) => body.title));
			for (const [title, hit] of this.hits)
				if (hit.stored?.vid === vid || gone.has(title)) hit.isStored = false;
			this.#erased.add(vid);
			const isOfOther = (one: { readonly vid: string }) => one.vid !== vid;
			log = {
				hits: log.hits.filter(isOfOther),
				kept: {
					links: log.kept.links.filter(isOfOther),
					touches: log.kept.touches.filter(isOfOther),
					began: log.kept.began,
				},
				shared: log.shared,
				events: log.events.map((event) => ({ ...event, cid: this.events.get(event.tid)?.cid ?? null })),
			};
		}
	}

	async #prune({ behindMs, keepsTouches }: Of<'prune'>): Promise<void> {
		const beforeMs = this.#nowMs - behindMs;
		const { store, accountId } = this.#service;
		if (keepsTouches) await foldAll(store, accountId);
		const { log } = await readStored(store, accountId);
		await this.#service.prune(beforeMs, keepsTouches);
		const { derived } = await readStored(store, accountId);
		const wanted = keepsTouches
			? wantedOf(log, beforeMs)
			: { links: [], touches: [], buyers: new Set<string | null>() };
		// Nobody arrives by what is deleted.
		const before = new Set(touchesOf(log).map(({ vid, atMs }) => `${vid} ${atMs}`));
		for (const name of derived.touches.keys())
			assert.ok(
				before.has(name) || !wanted.buyers.has(name.split(' ')[0] as string),
				`${name} has not arrived`,
			);
		for (const { vid, key, atMs, provenAtMs: proven } of wanted.links) {
			const [shownAtMs, provenAtMs] = derived.links.get(`${vid} ${key}`) as [number, number];
			assert.ok(shownAtMs <= atMs, `${vid} has shown ${key}`);
			assert.ok(provenAtMs <= proven, `${vid} has proved ${key}`);
		}
		for (const { vid, atMs, origin } of wanted.touches)
			assert.deepEqual(derived.touches.get(`${vid} ${atMs}`), origin, `${vid} arrived at ${atMs}`);
		for (const hit of this.hits.values())
			if (hit.atMs < beforeMs - maxMovedMs) hit.isStored = false;
			else if (hit.atMs < beforeMs && hit.isStored) hit.isStored = undefined;
	}
}
