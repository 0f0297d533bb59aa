import { randomBytes } from 'node:crypto';
import { OperatorError } from '../../errors.ts';
import { deleteRows, insertRows, selectRows } from './rows.ts';
import type { ControlDatabase, ControlDoors } from './tables.ts';

/** More are for nobody; the latest count. */
const maxRead = 1000;

/** What happened on a day. */
export interface StoredNote {
	readonly id: string;
	/** Such as 2026-03-29; null where it is the day of `createdAtMs`, whatever the time zone. */
	readonly day: string | null;
	readonly text: string;
	/** An email address; null where it was written by itself. */
	readonly who: string | null;
	readonly createdAtMs: number;
}

/**
 * Writes by itself, in the transaction that changes something, what pictures of time should tell.
 * @param accountId null for all accounts
 */
export async function insertNote(
	database: ControlDatabase,
	accountId: number | null,
	text: string,
	nowMs: number,
	by: Pick<StoredNote, 'day' | 'who'> = { day: null, who: null },
): Promise<void> {
	const id = `n_${randomBytes(6).toString('hex')}`;
	await insertRows(database, 'note', { id, account_id: accountId, ...by, text, created_at: nowMs });
}

/** Notes on days: of people, and of what changes how figures come about. */
export function noteStore({ database, change, now }: ControlDoors) {
	return {
		/** Those of an account and of all accounts, the latest written first. */
		async list(accountId: number): Promise<StoredNote[]> {
			return database
				.selectFrom('note')
				.select(['id', 'day', 'text', 'who', 'created_at as createdAtMs'])
				.where(({ eb, or }) => or([eb('account_id', '=', accountId), eb('account_id', 'is', null)]))
				.orderBy('created_at', 'desc')
				.orderBy('id')
				.limit(maxRead)
				.execute();
		},

		/** @param by missing where it is written by itself */
		add(accountId: number, text: string, by?: { readonly day: string; readonly who: string }): Promise<void> {
			return insertNote(database, accountId, text, now(), by);
		},

		/** Writes for all accounts what happens once, whoever finds it first. */
		async addOnce(text: string): Promise<void> {
			const isKnown = async (of: ControlDatabase) => (await selectRows(of, 'note', { text })).length > 0;
			if (await isKnown(database)) return;
			await change(async (transaction) => {
				if (!(await isKnown(transaction))) await insertNote(transaction, null, text, now());
			});
		},

		/** Removes a note of an account. @throws OperatorError where there is none */
		async remove(accountId: number, id: string): Promise<void> {
			if ((await deleteRows(database, 'note', { account_id: accountId, id })) === 0)
				throw new OperatorError('There is no such note; somebody has removed it.');
		},
	};
}
