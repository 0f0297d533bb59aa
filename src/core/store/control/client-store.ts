import { OperatorError } from '../../errors.ts';
import { isoTime } from '../../format/iso-time.ts';
import { having, type Reading, select, sql } from '../steps.ts';
import { clientId, selectAccounts } from './account-store.ts';
import type { ControlDoors } from './control-tables.ts';
import { areUsable, deleteKeys, firstOf, isUsable, selectKeys } from './key-store.ts';

export interface Client {
	readonly client: string;
	readonly accounts: number;
	/** Number of keys that are neither revoked nor expired. */
	readonly keys: number;
	readonly createdAt: string;
	readonly disabledAt: string | null;
}

interface ClientRow extends Pick<Client, 'client' | 'accounts' | 'keys'> {
	readonly created_at: number;
	readonly disabled_at: number | null;
}

/** All clients, or the named one. */
function* selectClients(nowMs: number, name?: string): Reading<Client[]> {
	const rows = yield* select<ClientRow>`client.name AS client, client.created_at, client.disabled_at,
		(SELECT count(*) FROM @account AS account WHERE account.client_id = client.id) AS accounts,
		(SELECT count(*) FROM @api_key AS api_key WHERE api_key.client_id = client.id AND ${areUsable(nowMs)}) AS keys
		FROM @client AS client WHERE ${having({ name })} ORDER BY client.id`;
	return rows.map(({ created_at, disabled_at, ...client }) => ({
		...client,
		createdAt: isoTime(created_at),
		disabledAt: isoTime(disabled_at),
	}));
}

function* selectClient(name: string, nowMs: number): Reading<Client> {
	const [client] = yield* selectClients(nowMs, name);
	if (!client) throw new OperatorError(`There is no client ${name}; 'caskade client list' shows all.`);
	return client;
}

export function clientStore({ read, change, now }: ControlDoors) {
	return {
		/** In order of creation. */
		clients: () => read(selectClients(now())),

		hasClients: async () => (await read(select`id FROM @client LIMIT 1`)).length > 0,

		/** Disabling twice keeps the first time. @throws OperatorError where there is none */
		setClientDisabled: (name: string, disabled: boolean): Promise<Client> =>
			change(function* () {
				const { disabledAt } = yield* selectClient(name, now());
				if (disabled !== (disabledAt !== null))
					yield* sql`UPDATE @client SET disabled_at = ${disabled ? now() : null} WHERE name = ${name}`;
				return yield* selectClient(name, now());
			}),

		/**
		 * Deletes a client with its keys that are revoked or expired.
		 * @throws OperatorError where there is none, or it has accounts or usable keys
		 */
		deleteClient: (name: string): Promise<void> =>
			change(function* () {
				yield* selectClient(name, now());
				const id = yield* clientId(name);
				const accounts = (yield* selectAccounts()).filter(({ client }) => client === name);
				const keys = yield* selectKeys({ client: name });
				const usable = keys.filter((key) => isUsable(key, now()));
				const has = [
					...(accounts.length > 0 ? [`accounts (${firstOf(accounts.map(({ aid }) => aid))})`] : []),
					...(usable.length > 0 ? [`keys (${firstOf(usable.map(({ id }) => id))})`] : []),
				];
				if (has.length > 0)
					throw new OperatorError(
						`Client ${name} still has ${has.join(' and ')}; end them first with 'caskade account delete AID' and 'caskade key revoke ID'.`,
					);
				yield* deleteKeys(keys);
				yield [
					sql`DELETE FROM @upload_answer WHERE client_id = ${id}`,
					sql`DELETE FROM @upload_quarter WHERE client_id = ${id}`,
					sql`DELETE FROM @upload_problem WHERE client_id = ${id}`,
					sql`DELETE FROM @client WHERE id = ${id}`,
				];
			}),
	};
}
