import { OperatorError, type Store } from '../store/store.ts';
import { transactAgain } from '../store/transact-again.ts';
import { type Erased, erase, eraseCustomer, visitorsOfCustomer, visitsOf } from '../store/visitor-log.ts';

export interface Erasure extends Erased {
	readonly vids: readonly string[];
	/** Visitors and visits whose casks are void. */
	readonly revoked: number;
}

/**
 * Erases one visitor. Casks are revoked first: an erasure that is interrupted leaves data, which the next one finds,
 * never a cask without data to revoke it by. A cask is of the moment of its hit, so none is later than the visitor's last
 * hit, whoever's clock is wrong.
 * @throws OperatorError where nothing is stored
 */
export async function eraseVisitor(store: Store, accountId: number, vid: string): Promise<Erasure> {
	const erasure = await eraseAll(store, accountId, [vid]);
	await store.purge(accountId, { rewrite: true });
	if (erasure.hits + erasure.events === 0)
		throw new OperatorError('Nothing is stored of that visitor; its casks are void all the same.');
	return erasure;
}

/**
 * Erases every visitor who has shown a customer id, and takes it off all subscription events.
 * @throws OperatorError where nothing is stored
 */
export async function eraseCustomerVisitors(store: Store, accountId: number, cid: string): Promise<Erasure> {
	const vids = await store.transact(accountId, visitorsOfCustomer(cid));
	const erasure = await eraseAll(store, accountId, vids);
	const others = await transactAgain(store, accountId, () => eraseCustomer(cid));
	await store.purge(accountId, { rewrite: true });
	if (vids.length + others === 0) throw new OperatorError('Nothing is stored of that customer.');
	return { ...erasure, events: erasure.events + others };
}

async function eraseAll(store: Store, accountId: number, vids: readonly string[]): Promise<Erasure> {
	const known = await store.transact(accountId, visitsOf(vids));
	await store.control.revokeCasks(accountId, [...vids, ...known.sids], known.lastHitAtMs);
	const { erased, visits } = await transactAgain(store, accountId, () => erase(vids));
	// Those of hits that have arrived meanwhile, too.
	const subjects = [...new Set([...vids, ...known.sids, ...visits.sids])];
	await store.control.revokeCasks(accountId, subjects, visits.lastHitAtMs);
	return { vids, revoked: subjects.length, ...erased };
}
