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
 * never a cask without data to revoke it by.
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
	const sids = await store.transact(accountId, visitsOf(vids));
	const subjects = [...vids, ...sids];
	await store.control.revokeCasks(accountId, subjects);
	const erased = await transactAgain(store, accountId, () => erase(vids));
	return { vids, revoked: subjects.length, ...erased };
}
