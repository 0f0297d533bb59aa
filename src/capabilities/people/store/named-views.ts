import { randomBytes } from 'node:crypto';
import { OperatorError } from '../../../core/errors.ts';
import type { ControlDoors } from '../../../core/store/control/control-tables.ts';
import { having, inserting, select, sql } from '../../../core/store/steps.ts';
import type { NamedView } from '../../../kit/console/links.ts';

/** Of an account, or of a person there: they stand in a menu. */
const maxViews = 50;

export interface StoredView extends NamedView {
	readonly id: string;
	/** Whether everybody who sees the account has it. */
	readonly isShared: boolean;
}

/** Named views: a person's own, and those of an account. */
export function namedViewStore({ read, write, change, now }: ControlDoors) {
	return {
		/** Those of an account and the person's own there, by name. */
		async list(accountId: number, personId: string): Promise<StoredView[]> {
			const rows = await read(
				select<
					NamedView & { id: string; user_id: string | null }
				>`id, user_id, name, page, query FROM @named_view WHERE account_id = ${accountId} AND (user_id = ${personId} OR user_id IS NULL) ORDER BY name, id`,
			);
			return rows.map(({ user_id, ...view }) => ({ ...view, isShared: user_id === null }));
		},

		/**
		 * Saves a view; one of the same name is replaced.
		 * @param personId null for everybody who sees the account
		 * @throws OperatorError where there are too many
		 */
		save: (accountId: number, personId: string | null, { name, page, query }: NamedView): Promise<void> =>
			change(function* () {
				const owner = { account_id: accountId, user_id: personId };
				yield* sql`DELETE FROM @named_view WHERE ${having({ ...owner, name })}`;
				if ((yield* select`id FROM @named_view WHERE ${having(owner)}`).length >= maxViews)
					throw new OperatorError(`There are ${maxViews} views already; remove one first.`);
				const id = `w_${randomBytes(6).toString('hex')}`;
				yield* sql`INSERT INTO @named_view ${inserting({ ...owner, id, name, page, query, created_at: now() })}`;
			}),

		/** Removes a view of the person's, or one of the account. @throws OperatorError where there is none */
		async remove(accountId: number, personId: string | null, id: string): Promise<void> {
			const view = having({ account_id: accountId, user_id: personId, id });
			const removed = await write(() => sql`DELETE FROM @named_view WHERE ${view} RETURNING id`);
			if (removed.length === 0) throw new OperatorError('There is no such view; somebody has removed it.');
		},
	};
}
