import { OperatorError } from '../../errors.ts';
import { isoTime } from '../../format/iso-time.ts';
import { clientId, selectAccounts } from './accounts.ts';
import { areUsable, deleteKeys, firstOf, isUsable, selectKeys } from './keys.ts';
import { deleteRows, updateRows } from './rows.ts';
import { type ControlDatabase, type ControlDoors, given } from './tables.ts';

export interface Client {
	readonly client: string;
	readonly accounts: number;
	/** Number of keys that are neither revoked nor expired. */
	readonly keys: number;
	readonly createdAt: string;
	readonly disabledAt: string | null;
}

/** All clients, or the named one. */
async function selectClients(database: ControlDatabase, nowMs: number, name?: string): Promise<Client[]> {
	const rows = await database
		.selectFrom('client')
		.select(({ selectFrom, fn }) => [
			'client.name',
			'client.created_at',
			'client.disabled_at',
			selectFrom('account')
				.select(fn.countAll<number>().as('count'))
				.whereRef('account.client_id', '=', 'client.id')
				.as('accounts'),
			selectFrom('api_key')
				.select(fn.countAll<number>().as('count'))
				.whereRef('api_key.client_id', '=', 'client.id')
				.where(areUsable(nowMs))
				.as('keys'),
		])
		.where(({ and }) => and(given({ 'client.name': name })))
		.orderBy('client.id')
		.execute();
	return rows.map((row) => ({
		client: row.name,
		accounts: Number(row.accounts),
		keys: Number(row.keys),
		createdAt: isoTime(row.created_at),
		disabledAt: isoTime(row.disabled_at),
	}));
}

async function selectClient(database: ControlDatabase, name: string, nowMs: number): Promise<Client> {
	const [client] = await selectClients(database, nowMs, name);
	if (!client) throw new OperatorError(`There is no client ${name}; 'caskade client list' shows all.`);
	return client;
}

export function clientStore({ database, change, now }: ControlDoors) {
	return {
		/** In order of creation. */
		clients: () => selectClients(database, now()),

		hasClients: async () => (await database.selectFrom('client').select('id').limit(1).execute()).length > 0,

		/** Disabling twice keeps the first time. @throws OperatorError where there is none */
		setClientDisabled: (name: string, disabled: boolean): Promise<Client> =>
			change(async (transaction) => {
				const { disabledAt } = await selectClient(transaction, name, now());
				if (disabled !== (disabledAt !== null))
					await updateRows(transaction, 'client', { name }, { disabled_at: disabled ? now() : null });
				return selectClient(transaction, name, now());
			}),

		/**
		 * Deletes a client with its keys that are revoked or expired.
		 * @throws OperatorError where there is none, or it has accounts or usable keys
		 */
		deleteClient: (name: string): Promise<void> =>
			change(async (transaction) => {
				await selectClient(transaction, name, now());
				const accounts = (await selectAccounts(transaction)).filter(({ client }) => client === name);
				const keys = await selectKeys(transaction, { client: name });
				const usable = keys.filter((key) => isUsable(key, now()));
				const has = [
					...(accounts.length > 0 ? [`accounts (${firstOf(accounts.map(({ aid }) => aid))})`] : []),
					...(usable.length > 0 ? [`keys (${firstOf(usable.map(({ id }) => id))})`] : []),
				];
				if (has.length > 0)
					throw new OperatorError(
						`Client ${name} still has ${has.join(' and ')}; end them first with 'caskade account delete AID' and 'caskade key revoke ID'.`,
					);
				await deleteKeys(transaction, keys);
				const client_id = await clientId(transaction, name);
				for (const table of ['upload_answer', 'upload_problem'] as const)
					await deleteRows(transaction, table, { client_id });
				await deleteRows(transaction, 'client', { name });
			}),
	};
}
