import { type DerivedVisitor, derivedVisitor } from '../../../core/domain/derived-vid.ts';
import { successorsOf } from '../../../core/store/account/profiles/derived-visitors.ts';
import { countVisitors, profilesOf } from '../../../core/store/account/reading/visitors.ts';
import { BatchSizer } from '../../../core/store/batch-sizer.ts';
import { foldAll } from '../../../core/store/fold-all.ts';
import { settleAll } from '../../../core/store/settle-all.ts';
import type { Steps } from '../../../core/store/steps.ts';
import type { Store } from '../../../core/store/store.ts';
import { forgetAllDays } from '../../../kit/reading/kept-days.ts';
import { findAllSharedKeys } from './find-shared-keys.ts';
import {
	reassignEvents,
	rebuildVisitors,
	rebuildVisits,
	repairVisits,
	unverifyLinks,
	visitorsAfter,
	waitToBeRebuilt,
} from './rebuild-visitors.ts';
import {
	type ApartPlace,
	customersShownBy,
	findPlace,
	logBegin,
	sharedVisitors,
	takeApart,
	takeKeptLinks,
} from './take-apart.ts';

/** Visitors read at a time. */
const pageVisitors = 200;
const visitorsPerTransaction = { initial: 20, max: pageVisitors };

export interface RebuildReport {
	readonly visitors: number;
	/** Visitors of earlier versions, or of imports, who had shown several customers. */
	readonly apart: number;
	/** Profiles and joins that differed from the log. A visitor with a long log counts once. */
	readonly changed: number;
}

/**
 * Finds keys that too many share, takes visitors apart who have shown several customers, rebuilds every visitor's visits, joins and profile from the log, in
 * short transactions, and forgets what is kept of days.
 * @param onProgress receives the number of visitors done and the approximate total
 */
export async function rebuildAll(
	store: Store,
	accountId: number,
	onProgress: (visitors: number, total: number) => void = () => {},
): Promise<RebuildReport> {
	const rebuilding = new VisitorRebuild(store, accountId);
	const total = await store.read(accountId, countVisitors());
	await settleAll(store, accountId);
	await findAllSharedKeys(store, accountId);
	// Whoever has only shown keys that too many share need not be taken apart.
	await foldAll(store, accountId);
	let apart = 0;
	for (let page: readonly string[] = ['']; page.length > 0; apart += page.length) {
		page = await store.read(accountId, sharedVisitors(page.at(-1) ?? ''));
		for (const vid of page) await rebuilding.takeApart(vid);
	}
	await rebuilding.repairVisits();
	let visitors = 0;
	for (let last: string | undefined = ''; last !== undefined; ) {
		const vids: string[] = await store.read(accountId, visitorsAfter(last, pageVisitors));
		await rebuilding.rebuild(vids);
		visitors += vids.length;
		last = vids.at(-1);
		if (last !== undefined) onProgress(visitors, Math.max(total, visitors));
	}
	const changed = await rebuilding.end();
	await store.transact(accountId, forgetAllDays);
	return { visitors, apart, changed };
}

/**
 * Takes a visitor apart who has shown several customers: each customer's hits, from the first that shows it until another is
 * shown, become those of the visitor that a hit of today would be given to. What came before anybody was named stays.
 */
export async function takeVisitorApart(store: Store, accountId: number, vid: string): Promise<void> {
	const rebuilding = new VisitorRebuild(store, accountId);
	await rebuilding.takeApart(vid);
	await rebuilding.end();
}

class VisitorRebuild {
	readonly #store: Store;
	readonly #accountId: number;
	readonly #batchSizer = new BatchSizer(visitorsPerTransaction);
	/** The previous profiles of visitors with long logs. */
	readonly #before = new Map<string, string>();
	#changed = 0;

	constructor(store: Store, accountId: number) {
		this.#store = store;
		this.#accountId = accountId;
	}

	/** @param visitorsOf how many visitors were rebuilt */
	#transact<T>(begin: () => Steps<T>, visitorsOf: (outcome: T) => number = () => 0): Promise<T> {
		return this.#batchSizer.run(() => this.#store.transact(this.#accountId, begin), visitorsOf);
	}

	async takeApart(vid: string): Promise<void> {
		const others = await this.#visitorsOfOthers(vid);
		let place: ApartPlace | undefined = (await this.#store.read(this.#accountId, findPlace(vid))) ?? logBegin;
		while (place) {
			const from: ApartPlace = place;
			place = await this.#transact(() => takeApart(vid, others, from));
		}
		// Until the others have their links, the visitor keeps its own, by which it is found again if this is repeated after a kill.
		await this.rebuild([...others.values()]);
		if (others.values().some((other) => this.#before.has(other))) await foldAll(this.#store, this.#accountId);
		await this.rebuild([vid]);
		await this.#transact(() => takeKeptLinks(vid, others));
	}

	/** The visitors of the customers that a visitor has shown, but the first one. */
	async #visitorsOfOthers(vid: string): Promise<Map<string, string>> {
		const secret = await this.#store.control.visitorSecret(this.#accountId);
		const [, ...cids] = await this.#store.read(this.#accountId, customersShownBy(vid));
		const derived = cids.map((cid) => derivedVisitor(secret, 'customer', vid, cid));
		const successors = await this.#store.read(this.#accountId, successorsOf(derived));
		return new Map(
			cids.map((cid, index) => {
				const { vid: own, mark } = derived[index] as DerivedVisitor;
				return [cid, successors.get(mark) ?? own];
			}),
		);
	}

	async repairVisits(): Promise<void> {
		for (let lastId = 0; ; ) {
			const page = await this.#store.transact(this.#accountId, () => repairVisits(lastId));
			if (!page) return;
			this.#changed += page.changed;
			lastId = page.lastId;
		}
	}

	async rebuild(vids: readonly string[]): Promise<void> {
		for (let waiting = vids; waiting.length > 0; ) {
			const some = waiting.slice(0, this.#batchSizer.size);
			const { changed, left } = await this.#transact(
				() => rebuildVisitors(some),
				(rebuilt) => some.length - rebuilt.left.length,
			);
			this.#changed += changed;
			waiting = [...left, ...waiting.slice(some.length)];
			const [long] = left;
			if (left.length < some.length || long === undefined) continue;
			await this.#rebuildLong(long);
			waiting = waiting.filter((vid) => vid !== long);
		}
	}

	/** First does what folding does not, a page at a time. */
	async #rebuildLong(vid: string): Promise<void> {
		this.#before.set(vid, await this.#profile(vid));
		for (let key: string | undefined = ''; key !== undefined; ) {
			const after: string = key;
			key = await this.#transact(() => unverifyLinks(vid, after));
		}
		for (let id: number | undefined = 0; id !== undefined; ) {
			const after: number = id;
			id = await this.#transact(() => reassignEvents(vid, after));
		}
		await this.#transact(() => waitToBeRebuilt(vid, Date.now()));
		const first = { atMs: Number.MIN_SAFE_INTEGER, id: 0 };
		for (let place: typeof first | undefined = first; place; ) {
			const after: typeof first = place;
			place = await this.#transact(() => rebuildVisits(vid, after));
		}
	}

	async #profile(vid: string): Promise<string> {
		const profiles = await this.#store.read(this.#accountId, profilesOf([vid]));
		return JSON.stringify(profiles.get(vid) ?? null);
	}

	/** @returns how many differed from the log */
	async end(): Promise<number> {
		await foldAll(this.#store, this.#accountId);
		for (const [vid, before] of this.#before) if ((await this.#profile(vid)) !== before) this.#changed++;
		return this.#changed;
	}
}
