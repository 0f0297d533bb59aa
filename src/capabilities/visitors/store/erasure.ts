import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { monotonicMs } from '../../../core/clock.ts';
import { customerMarkOf, markOf } from '../../../core/domain/derived-vid.ts';
import { linksOfHit } from '../../../core/store/account/owners/identity-links.ts';
import { saveMarks } from '../../../core/store/account/profiles/derived-visitors.ts';
import { pauseMs } from '../../../core/store/batch-sizer.ts';
import type { Erasee } from '../../../core/store/erasure-list.ts';
import { assignAll, foldAll } from '../../../core/store/fold-all.ts';
import type { Maintenance } from '../../../core/store/maintenance.ts';
import type { Store } from '../../../core/store/store.ts';
import { messageLeaseMs, messagesUnderWay } from '../../webhooks/store/outbox.ts';
import {
	beginErasing,
	type ErasedCounts,
	erasableOf,
	erasePiece,
	erasureBegun,
	eventsOfPart,
	findAbandonedErasure,
	freeCustomer,
	type HitPlace,
	lastHitOf,
	otherEventsOf,
	visitorsOfCustomer,
	visitsAfter,
} from './erasing.ts';
import { takeVisitorApart } from './rebuilding.ts';
import { type ApartPlace, customersShownBy, logBegin, nextHits, sharedVisitorsOf } from './take-apart.ts';

const messagePauseMs = 20;
/** While a server runs, it does the background work, too. */
const foldMs = 5000;

export interface Erasure extends ErasedCounts {
	readonly vids: readonly string[];
	/** Number of visitors and visits whose casks were revoked. */
	readonly revoked: number;
}

type OnProgress = (soFar: ErasedCounts) => void;

/** When an erasure was asked for. */
export interface AskedFor {
	readonly atMs: number;
	/** Whether it is in the list of erasures, and a backup has brought back what was erased. What came later stays then. */
	readonly isAgain: boolean;
}

/** @param atMs when it was asked for, where that was before */
function askedNow(store: Store, atMs = Math.floor(store.now())): AskedFor {
	return { atMs, isAgain: false };
}

/** An erasure that shows no progress for this long is abandoned; a running one reports more often. */
const abandonedAfterMs = 60_000;

/** Later than everything. */
const endMs = Number.MAX_SAFE_INTEGER;

/** What an erasure would erase. */
export interface Erasable extends ErasedCounts {
	readonly vids: readonly string[];
	/**
	 * Those of them who have shown other customers, too, if there are any. They are taken apart first: what is the others'
	 * stays, and is not counted.
	 */
	readonly shared?: readonly string[];
	/** Where one visitor is erased that has shown several customers: how many. What is theirs goes with it. */
	readonly customers?: number;
}

/** Counts what an erasure would erase. */
export async function erasable(store: Store, accountId: number, erasee: Erasee): Promise<Erasable> {
	const vids = 'vid' in erasee ? [erasee.vid] : await customersVids(store, accountId, erasee.cid, endMs);
	const all = { hits: 0, visits: 0, events: 0, links: 0 };
	if ('vid' in erasee) {
		add(all, await store.read(accountId, erasableOf(erasee.vid)));
		const { length: customers } = await store.read(accountId, customersShownBy(erasee.vid));
		return { vids, ...(customers > 1 && { customers }), ...all };
	}
	const shared = await store.read(accountId, sharedVisitorsOf(erasee.cid));
	for (const vid of vids)
		add(
			all,
			shared.includes(vid)
				? await erasablePart(store, accountId, vid, erasee.cid)
				: await store.read(accountId, erasableOf(vid)),
		);
	all.events += await store.read(accountId, otherEventsOf(erasee.cid));
	return { vids, ...(shared.length > 0 && { shared }), ...all };
}

/** What would be erased of a visitor who has shown other customers, too. */
async function erasablePart(
	store: Store,
	accountId: number,
	vid: string,
	cid: string,
): Promise<ErasedCounts> {
	const [first] = await store.read(accountId, customersShownBy(vid));
	const sids = new Set<string>();
	const keys = new Set<string>();
	let hits = 0;
	for (let place: ApartPlace | undefined = logBegin; place; ) {
		const from: ApartPlace = place;
		const page = await store.read(accountId, nextHits(vid, from));
		for (const { row, cid: owner, body } of page.hits) {
			if ((owner ?? first) !== cid) continue;
			hits++;
			sids.add(String(row.sid));
			for (const { key } of linksOfHit(vid, 0, body)) keys.add(key);
		}
		place = page.place;
	}
	const events = await store.read(accountId, eventsOfPart(vid, cid, [...keys]));
	return { hits, visits: sids.size, events, links: keys.size };
}

/**
 * Erases one visitor, who is unknown from the start of it. An interrupted erasure is completed by a server, or by
 * repeating the command. Erasing twice is no error.
 * @param onProgress receives what is erased so far
 */
export async function eraseVisitor(
	store: Store & Maintenance,
	accountId: number,
	vid: string,
	onProgress: OnProgress = () => {},
): Promise<Erasure> {
	const erasure = await eraseAll(store, accountId, [vid], onProgress);
	await store.purge(accountId, { rewrite: true });
	return erasure;
}

/**
 * Erases every visitor with a customer id, and removes it from all subscription events. Visitors who have shown other customers,
 * too, are taken apart first.
 */
export async function eraseCustomerVisitors(
	store: Store & Maintenance,
	accountId: number,
	cid: string,
	onProgress: OnProgress = () => {},
): Promise<Erasure> {
	const erasure = await eraseCustomer(store, accountId, cid, onProgress);
	await store.purge(accountId, { rewrite: true });
	return erasure;
}

/** Erases the visitors of a customer; what was deleted may stay on the disk, see `Maintenance.purge`. */
export async function eraseCustomer(
	store: Store,
	accountId: number,
	cid: string,
	onProgress: OnProgress = () => {},
	{ atMs, isAgain }: AskedFor = askedNow(store),
): Promise<Erasure> {
	const marking = await store.control.marking(accountId);
	if (!isAgain) store.erasureList.append(marking, { cid }, atMs);
	for (const vid of await store.read(accountId, sharedVisitorsOf(cid)))
		await takeVisitorApart(store, accountId, vid);
	const untilMs = isAgain ? atMs : endMs;
	const vids = await customersVids(store, accountId, cid, untilMs);
	const erasure = { ...(await eraseAll(store, accountId, vids, onProgress, { atMs, isAgain })) };
	for (let freed = 1; freed > 0; erasure.events += freed) {
		freed = await store.transact(accountId, () => freeCustomer(cid, untilMs));
		onProgress(erasure);
		await delay(pauseMs);
	}
	await foldSome(store, accountId);
	await store.control.audit.forget(accountId, cid);
	const mark = { mark: customerMarkOf(marking.secret, cid), successor: '', atMs };
	await store.transact(accountId, function* () {
		yield [saveMarks([mark])];
	});
	return erasure;
}

async function customersVids(
	store: Store,
	accountId: number,
	cid: string,
	untilMs: number,
): Promise<string[]> {
	const vids: string[] = [];
	for (let page: readonly string[] = ['']; page.length > 0; vids.push(...page))
		page = await store.read(accountId, visitorsOfCustomer(cid, vids.at(-1) ?? '', untilMs));
	return vids;
}

function add(all: { -readonly [Name in keyof ErasedCounts]: number }, one: ErasedCounts): void {
	all.hits += one.hits;
	all.visits += one.visits;
	all.events += one.events;
	all.links += one.links;
}

async function eraseAll(
	store: Store,
	accountId: number,
	vids: readonly string[],
	onProgress: OnProgress,
	asked?: AskedFor,
): Promise<Erasure> {
	const all = { vids, revoked: 0, hits: 0, visits: 0, events: 0, links: 0 };
	for (const vid of vids) {
		const onPiece = (piece: ErasedCounts) => {
			add(all, piece);
			onProgress(all);
		};
		all.revoked += await eraseOne(store, accountId, vid, onPiece, asked);
	}
	await foldSome(store, accountId);
	return all;
}

/** Rebuilds who has gained events, as long as that takes no longer than the erasure; a server does the rest. */
async function foldSome(store: Store, accountId: number): Promise<void> {
	const isServed = await store.control.isServed();
	await foldAll(store, accountId, isServed ? { withinMs: foldMs } : {});
}

/** Goes on with an erasure that a killed process has begun, if there is one. */
export async function resumeErasure(store: Store & Maintenance, accountId: number): Promise<void> {
	const vid = await store.read(accountId, findAbandonedErasure(Date.now() - abandonedAfterMs));
	if (vid !== undefined) await eraseOne(store, accountId, vid);
}

/**
 * Erases a visitor, or resumes an interrupted erasure.
 * @returns how many casks were revoked
 */
export async function eraseOne(
	store: Store,
	accountId: number,
	vid: string,
	onPiece: (piece: ErasedCounts) => void = () => {},
	asked?: AskedFor,
): Promise<number> {
	const marking = await store.control.marking(accountId);
	const mark = markOf(marking.secret, vid);
	const begunMs = await store.read(accountId, erasureBegun(vid, mark));
	const { atMs, isAgain } = asked ?? askedNow(store, begunMs);
	if (!isAgain) store.erasureList.append(marking, { vid }, atMs);
	const revoked = new Set<string>();
	// First, so that no cask outlives the data that identifies it; then again for what was added meanwhile.
	await revokeCasks(store, accountId, vid, revoked);
	await waitForMessages(store, accountId, vid);
	// The customer is removed from the visitor's events, so it must be known which these are.
	await assignAll(store, accountId);
	const erased = { mark, successor: randomBytes(16).toString('hex'), isAgain };
	const begun = await store.transact(accountId, () =>
		// Until now it may have gained events.
		beginErasing(vid, Date.now(), { ...erased, atMs: isAgain ? atMs : Math.max(atMs, askedNow(store).atMs) }),
	);
	await revokeCasks(store, accountId, vid, revoked);
	for (;;) {
		const piece = await store.transact(accountId, () => erasePiece(vid, Date.now(), begun.atMs));
		if (!piece) break;
		onPiece(piece);
		await delay(pauseMs);
	}
	await store.control.audit.forget(accountId, vid);
	// Only messages that were taken after the wait above.
	const { untilMs } = begun;
	if (untilMs > 0) await delay(Math.min(messageLeaseMs, Math.max(0, untilMs - store.now())));
	return revoked.size;
}

/** Waits until no message about a visitor is under way, so that none is sent once the visitor is erased. */
async function waitForMessages(store: Store, accountId: number, vid: string): Promise<void> {
	const giveUpAtMs = monotonicMs() + messageLeaseMs;
	while (monotonicMs() < giveUpAtMs) {
		if ((await store.read(accountId, messagesUnderWay(vid))) <= store.now()) return;
		await delay(messagePauseMs);
	}
}

/**
 * Revokes the casks of a visitor and its visits, and records them. A cask is dated at its hit, so none is later than the
 * visitor's last hit, even if a clock was wrong.
 */
async function revokeCasks(
	store: Store,
	accountId: number,
	vid: string,
	revoked: Set<string>,
): Promise<void> {
	let place: HitPlace | undefined = { atMs: Number.MIN_SAFE_INTEGER, id: 0 };
	let subjects = [vid];
	const lastHitAtMs = await store.read(accountId, lastHitOf(vid));
	while (place) {
		const after: HitPlace = place;
		const page = await store.transact(accountId, () => visitsAfter(vid, after));
		subjects.push(...page.sids);
		await store.control.revokeCasks(accountId, subjects, lastHitAtMs);
		for (const subject of subjects) revoked.add(subject);
		subjects = [];
		place = page.last;
	}
}
