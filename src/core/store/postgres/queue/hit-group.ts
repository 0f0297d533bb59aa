import type pg from 'pg';
import { monotonicMs } from '../../../clock.ts';
import type { ArrivingHit, StoredHit } from '../../../domain/stored-hit.ts';
import { OutcomeUnknownError, UnavailableError } from '../../../errors.ts';
import { storeHits } from '../../account/arriving/hits.ts';
import type { AccountTables, TablesOf } from '../engine/account-tables.ts';
import { holdPlace } from '../engine/places.ts';
import { beginWriting, commitTransaction, isRolledBack, pipeline } from '../engine/postgres-connection.ts';
import { runSteps } from '../engine/postgres-run-steps.ts';
import type { WaitingWrite, WriteKind } from './postgres-write-queue.ts';

const acquireWithinMs = 5000;
/** By then the page has probably been left. */
const maxWaitMs = 10_000;

export interface WaitingHit extends WaitingWrite {
	readonly hit: ArrivingHit;
	readonly resolve: (stored: StoredHit) => void;
}

export function waitingHit(
	accountId: number,
	hit: ArrivingHit,
	{ resolve, reject }: Pick<PromiseWithResolvers<StoredHit>, 'resolve' | 'reject'>,
): WaitingHit {
	const lateAtMs = monotonicMs() + maxWaitMs;
	return {
		accountId,
		hit,
		settleIfLate() {
			if (monotonicMs() < lateAtMs) return false;
			reject(new UnavailableError("the account's database is too slow"));
			return true;
		},
		resolve,
		reject,
	};
}

/**
 * Stores hits of one account in one transaction.
 * @param tablesOf an account's tables, as this server has them
 */
export function hitGroups(tablesOf: TablesOf): WriteKind<WaitingHit> {
	return {
		maxGroup: 64,
		// A hit's statements need the rows of earlier ones, so two accounts would wait for each other's round trips.
		maxAccounts: 1,
		fits: () => true,
		acquireWithinMs: () => acquireWithinMs,
		store: (client, group, committing) =>
			store(client, tablesOf((group[0] as WaitingHit).accountId), group, committing),
	};
}

async function store(
	client: pg.PoolClient,
	tables: AccountTables,
	group: readonly WaitingHit[],
	committing: () => void,
): Promise<() => void> {
	const [, , stored] = await pipeline(client, () => [
		client.query(beginWriting),
		holdPlace(client, tables),
		runSteps(client, tables, storeHits(group.map(({ hit }) => hit))),
	]);
	committing();
	try {
		await commitTransaction(client);
	} catch (error) {
		// It may be stored. Repeating it could count it twice.
		if (!isRolledBack(error)) throw new OutcomeUnknownError({ cause: error });
		throw error;
	}
	return () => {
		group.forEach(({ resolve }, index) => {
			resolve(stored[index] as StoredHit);
		});
	};
}
