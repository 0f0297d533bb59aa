import { setTimeout as delay } from 'node:timers/promises';
import { monotonicMs } from '../clock.ts';
import { type Crowd, foldCrowd, foundCrowd, leaveCrowd } from './account/profiles/crowded-fold.ts';
import { foldPiece } from './account/profiles/folding.ts';
import { lastAssignment } from './account/tasks.ts';
import { pauseMs } from './batch-sizer.ts';
import type { Store } from './store.ts';

/**
 * Does all background work of an account, and leaves its database to the serving processes in between.
 * @param withinMs gives up after that, because steady uploads bring new work all the time; the servers do the rest
 */
export async function foldAll(
	store: Store,
	accountId: number,
	{ withinMs = Number.POSITIVE_INFINITY } = {},
): Promise<void> {
	const giveUpAtMs = monotonicMs() + withinMs;
	for (let after: string | undefined = ''; ; ) {
		after = await foldOnce(store, accountId, after);
		if (after === undefined || monotonicMs() > giveUpAtMs) return;
		await delay(pauseMs);
	}
}

/** Does the background work until all events that wait for their owner now have it. */
export async function assignAll(store: Store, accountId: number): Promise<void> {
	const last = (untilId: number) => store.read(accountId, lastAssignment(untilId));
	const untilId = await last(Number.MAX_SAFE_INTEGER);
	while (untilId !== null && (await last(untilId)) !== null) {
		await foldOnce(store, accountId, '');
		await delay(pauseMs);
	}
}

/**
 * Does one batch.
 * @param after the cursor of the last batch
 * @returns the new cursor; undefined when nothing waits
 */
export async function foldOnce(store: Store, accountId: number, after: string): Promise<string | undefined> {
	const piece = await store.transact(accountId, () => foldPiece(after));
	if (piece?.crowd) await foldThrough(store, accountId, piece.crowd);
	return piece?.name;
}

/** Links per transaction. */
const maxLinks = 50;

/** Folds a crowd. Reading it may take long but locks nothing; storing it is short. */
async function foldThrough(store: Store, accountId: number, crowd: Crowd): Promise<void> {
	const folded = await store.read(accountId, foldCrowd(crowd));
	for (let from = 0; from < folded.links.length; from += maxLinks) {
		const links = folded.links.slice(from, from + maxLinks);
		if (!(await store.transact(accountId, () => foundCrowd(crowd, links)))) return;
		await delay(pauseMs);
	}
	await store.transact(accountId, () => leaveCrowd(crowd, folded));
}
