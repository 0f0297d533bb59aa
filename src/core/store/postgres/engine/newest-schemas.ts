import { StorageError, UnavailableError } from '../../../errors.ts';
import { migrationFiles, SchemaTooOldError } from '../../migrations.ts';
import type { OlderSchema } from '../../store.ts';
import type { ReadQueue } from '../queue/read-queue.ts';
import type { AccountServers } from './account-servers.ts';
import { checkOwnServer } from './check-database.ts';
import { changedCollations } from './collations.ts';
import { raiseCounter } from './places.ts';
import { type PostgresPool, storageError } from './postgres-connection.ts';
import { migrate, schemaVersion } from './postgres-migrate.ts';
import { isOnCluster } from './server-capabilities.ts';
import type { ServerPool } from './server-pool.ts';

/** How long a request waits for a migration. The migration continues, and later requests find it done. */
const maxWaitMs = 5000;

/**
 * Migrates an account's schema when this process first uses it, so that an upgrade does not wait for thousands of
 * accounts that nobody reads.
 */
export class NewestSchemas {
	readonly #servers: AccountServers;
	readonly #poolOf: (address: string) => PostgresPool;
	readonly #newest = migrationFiles('postgres', 'client').length;
	/** Accounts whose schema is the newest, with the server's address. */
	readonly #known = new Map<number, string>();
	readonly #underWay = new Map<string, Promise<void>>();
	readonly #onNotice: (address: string, notice: string) => void;
	readonly #olderSchema: OlderSchema;

	/** For queries about any account: a slow account delays no others there. */
	readonly #reads: ServerPool<ReadQueue>;

	/**
	 * @param poolOf connections without a short time limit
	 * @param onNotice called with what a migration has to tell
	 */
	constructor(
		servers: AccountServers,
		reads: ServerPool<ReadQueue>,
		poolOf: (address: string) => PostgresPool,
		onNotice: (address: string, notice: string) => void,
		olderSchema: OlderSchema,
	) {
		this.#olderSchema = olderSchema;
		this.#servers = servers;
		this.#reads = reads;
		this.#poolOf = poolOf;
		this.#onNotice = onNotice;
	}

	/**
	 * For requests. @returns undefined where there is nothing to wait for
	 * @throws StorageError where the schema is not ready in time
	 */
	beforeUse(accountId: number): Promise<void> | undefined {
		if (this.#known.get(accountId) === this.#servers.ownerAddressOf(accountId)) return undefined;
		return inTime(this.ensureNewest(accountId));
	}

	/**
	 * Waits without a limit. @throws StorageError where the schema is missing: creating an empty one would hide a loss
	 */
	ensureNewest(accountId: number): Promise<void> {
		const address = this.#servers.ownerAddressOf(accountId);
		if (this.#known.get(accountId) === address) return Promise.resolve();
		const name = `${accountId} ${address}`;
		let migrated = this.#underWay.get(name);
		if (!migrated) {
			migrated = this.#migrate(accountId, address).finally(() => this.#underWay.delete(name));
			this.#underWay.set(name, migrated);
		}
		return migrated;
	}

	async #migrate(accountId: number, address: string): Promise<void> {
		const queue = this.#reads.get(this.#servers.addressOf(accountId));
		const schema = this.#servers.schemaOf(accountId);
		const asked = { query: (text: string, values?: unknown[]) => queue.query(accountId, text, values) };
		// The home server was checked at the start.
		if (address !== this.#servers.home) {
			await checkOwnServer(this.#poolOf(address), address);
			this.#tell(address, await changedCollations(this.#poolOf(address)));
		}
		const [version, onCluster] = await Promise.all([schemaVersion(asked, schema), isOnCluster(asked)]);
		if (version === 0) throw new StorageError(`the schema ${schema} is missing`);
		// A newer schema is used as it is: a newer server runs beside this one, which is about to be replaced.
		if (version < this.#newest) {
			if (this.#olderSchema !== 'migrate')
				throw new SchemaTooOldError(`The schema ${schema}`, version, this.#newest);
			const { notice } = await migrate(this.#poolOf(address), schema, 'client');
			this.#tell(address, notice);
		}
		if (onCluster) await raiseCounter(asked, schema);
		this.#known.set(accountId, address);
	}

	#tell(address: string, notice: string | undefined): void {
		if (notice) this.#onNotice(address, notice);
	}
}

async function inTime(migrated: Promise<void>): Promise<void> {
	let timer: NodeJS.Timeout | undefined;
	const late = new Promise<never>((_, reject) => {
		timer = setTimeout(
			() => reject(new UnavailableError("the account's database is still being made ready")),
			maxWaitMs,
		);
	});
	try {
		await Promise.race([migrated, late]);
	} catch (error) {
		throw storageError(error);
	} finally {
		clearTimeout(timer);
	}
}
