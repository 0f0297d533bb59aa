import { randomBytes } from 'node:crypto';
import { OperatorError } from '../../errors.ts';
import { type Askable, inserting, type Query, raw, select, sql } from '../steps.ts';
import type { ControlDoors } from './control-tables.ts';

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
export function insertNote(
	accountId: number | null,
	text: string,
	nowMs: number,
	by: Pick<StoredNote, 'day' | 'who'> = { day: null, who: null },
): Askable<Query> {
	const id = `n_${randomBytes(6).toString('hex')}`;
	return sql`INSERT INTO @note ${inserting({ id, account_id: accountId, ...by, text, created_at: nowMs })}`;
}

/** Notes on days: of people, and of what changes how figures come about. */
export function noteStore({ read, write, change, now }: ControlDoors) {
	return {
		/** Those of an account and of all accounts, the latest written first. */
		list: (accountId: number) =>
			read(
				select<StoredNote>`id, day, text, who, created_at AS "createdAtMs" FROM @note WHERE account_id = ${accountId} OR account_id IS NULL ORDER BY created_at DESC, id LIMIT ${raw(maxRead)}`,
			),

		/** @param by missing where it is written by itself */
		add: (accountId: number, text: string, by?: { readonly day: string; readonly who: string }) =>
			write(() => insertNote(accountId, text, now(), by)),

		/** Writes for all accounts what happens once, whoever finds it first. */
		async addOnce(text: string): Promise<void> {
			const known = select`id FROM @note WHERE text = ${text}`;
			if ((await read(known)).length > 0) return;
			await change(function* () {
				if ((yield* known).length === 0) yield* insertNote(null, text, now());
			});
		},

		/** Removes a note of an account. @throws OperatorError where there is none */
		async remove(accountId: number, id: string): Promise<void> {
			const removed = await write(
				() => sql`DELETE FROM @note WHERE account_id = ${accountId} AND id = ${id} RETURNING id`,
			);
			if (removed.length === 0) throw new OperatorError('There is no such note; somebody has removed it.');
		},
	};
}
