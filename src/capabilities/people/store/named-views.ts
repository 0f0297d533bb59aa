import { randomBytes } from 'node:crypto';
import { OperatorError } from '../../../core/errors.ts';
import { deleteRows, insertRows, selectRows } from '../../../core/store/control/rows.ts';
import type { ControlDoors } from '../../../core/store/control/tables.ts';

declare module '../../../core/store/control/tables.ts' {
	interface ControlTables {
		named_view: {
			id: string;
			account_id: number;
			user_id: string | null;
			name: string;
			page: string;
			query: string;
			created_at: number;
		};
	}
}

/** Of an account, or of a person there: they stand in a menu. */
const maxViews = 50;

/** A page of the console under a name. Its address is all that it shows. */
export interface NamedView {
	readonly name: string;
	/** What follows the account in the path; empty for the overview. */
	readonly page: string;
	/** Without the question mark. */
	readonly query: string;
}

export interface StoredView extends NamedView {
	readonly id: string;
	/** Whether everybody who sees the account has it. */
	readonly isShared: boolean;
}

/** Named views: a person's own, and those of an account. */
export function namedViewStore({ database, change, now }: ControlDoors) {
	return {
		/** Those of an account and the person's own there, by name. */
		async list(accountId: number, personId: string): Promise<StoredView[]> {
			const rows = await database
				.selectFrom('named_view')
				.selectAll()
				.where('account_id', '=', accountId)
				.where(({ eb, or }) => or([eb('user_id', '=', personId), eb('user_id', 'is', null)]))
				.orderBy('name')
				.orderBy('id')
				.execute();
			return rows.map(({ id, user_id, name, page, query }) => ({
				id,
				name,
				page,
				query,
				isShared: user_id === null,
			}));
		},

		/**
		 * Saves a view; one of the same name is replaced.
		 * @param personId null for everybody who sees the account
		 * @throws OperatorError where there are too many
		 */
		save(accountId: number, personId: string | null, { name, page, query }: NamedView): Promise<void> {
			return change(async (transaction) => {
				const owner = { account_id: accountId, user_id: personId };
				await deleteRows(transaction, 'named_view', { ...owner, name });
				if ((await selectRows(transaction, 'named_view', owner)).length >= maxViews)
					throw new OperatorError(`There are ${maxViews} views already; remove one first.`);
				const id = `w_${randomBytes(6).toString('hex')}`;
				await insertRows(transaction, 'named_view', { ...owner, id, name, page, query, created_at: now() });
			});
		},

		/** Removes a view of the person's, or one of the account. @throws OperatorError where there is none */
		async remove(accountId: number, personId: string | null, id: string): Promise<void> {
			const view = { account_id: accountId, user_id: personId, id };
			if ((await deleteRows(database, 'named_view', view)) === 0)
				throw new OperatorError('There is no such view; somebody has removed it.');
		},
	};
}
