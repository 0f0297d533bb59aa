import { OperatorError } from '../../errors.ts';
import { isoTime } from '../../format/iso-time.ts';
import { selectAccounts } from './accounts.ts';
import { areUsable, deleteKeys, firstOf, isUsable, selectKeys } from './keys.ts';
import type { ControlDatabase } from './tables.ts';

export interface Client {
	readonly client: string;
	readonly accounts: number;
	/** Number of keys that are neither revoked nor expired. */
	readonly keys: number;
	readonly createdAt: string;
	readonly disabledAt: string | null;
}

/** All clients in order of creation, or the named one. */
export async function selectClients(
	database: ControlDatabase,
	nowMs: number,
	name?: string,
): Promise<Client[]> {
	let query = database
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
		.orderBy('client.id');
	if (name !== undefined) query = query.where('client.name', '=', name);
	return (await query.execute()).map((row) => ({
		client: row.name,
		accounts: Number(row.accounts),
		keys: Number(row.keys),
		createdAt: isoTime(row.created_at),
		disabledAt: isoTime(row.disabled_at),
	}));
}

/**
 * Deletes a client with its keys that are revoked or expired.
 * @throws OperatorError where there is none, or it has accounts or usable keys
 */
export async function deleteClientRows(
	database: ControlDatabase,
	name: string,
	nowMs: number,
): Promise<void> {
	await selectClient(database, name, nowMs);
	const accounts = (await selectAccounts(database)).filter(({ client }) => client === name);
	const keys = await selectKeys(database, { client: name });
	const usable = keys.filter((key) => isUsable(key, nowMs));
	const has = [
		...(accounts.length > 0 ? [`accounts (${firstOf(accounts.map(({ aid }) => aid))})`] : []),
		...(usable.length > 0 ? [`keys (${firstOf(usable.map(({ id }) => id))})`] : []),
	];
	if (has.length > 0)
		throw new OperatorError(
			`Client ${name} still has ${has.join(' and ')}; end them first with 'caskade account delete AID' and 'caskade key revoke ID'.`,
		);
	await deleteKeys(database, keys);
	await database.deleteFrom('client').where('name', '=', name).execute();
}

/** @throws OperatorError where there is no such client */
async function selectClient(database: ControlDatabase, name: string, nowMs: number): Promise<Client> {
	const [client] = await selectClients(database, nowMs, name);
	if (!client) throw new OperatorError(`There is no client ${name}; 'caskade client list' shows all.`);
	return client;
}

/**
 * Disabling twice keeps the first time.
 * @throws OperatorError where there is no such client
 */
export async function setClientDisabled(
	database: ControlDatabase,
	name: string,
	disabled: boolean,
	nowMs: number,
): Promise<Client> {
	await database
		.updateTable('client')
		.set({ disabled_at: disabled ? nowMs : null })
		.where('name', '=', name)
		.where('disabled_at', disabled ? 'is' : 'is not', null)
		.execute();
	return selectClient(database, name, nowMs);
}
