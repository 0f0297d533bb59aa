import type { Place } from './place.ts';
import type { PostgresServer } from './postgres-server.ts';
import { runCaskade } from './servers.ts';

/** The first account's events. */
export const eventTable = 'caskade_account_1.subscription_event';

let copies = 0;

/** A database of a PostgreSQL server. */
export class PostgresPlace implements Place {
	readonly #server: PostgresServer;
	readonly #name: string;

	constructor(server: PostgresServer, name: string) {
		this.#server = server;
		this.#name = name;
	}

	static async create(server: PostgresServer, name: string): Promise<PostgresPlace> {
		await server.query(`CREATE DATABASE ${name}`);
		return new PostgresPlace(server, name);
	}

	get address(): string {
		return this.#server.address(this.#name);
	}

	get enginePid(): number {
		return this.#server.pid;
	}

	query(statements: string | readonly string[]) {
		return this.#server.query(statements, this.#name);
	}

	async countEvents(): Promise<number> {
		const [row] = await this.query(`SELECT count(*) FROM ${eventTable}`);
		return Number(row?.count);
	}

	async prefill(events: number): Promise<void> {
		await this.query([
			"SET maintenance_work_mem = '1GB'",
			// Indexes over what is there already are made in a fraction of the time.
			`ALTER TABLE ${eventTable} DROP CONSTRAINT subscription_event_pkey`,
			'DROP INDEX caskade_account_1.subscription_event_id',
			`INSERT INTO ${eventTable} (tid, subid, cid, evt, rvn, received_at)
			SELECT gen_random_uuid(), 'sub-' || n % 1000000, 'cust-' || n % 1000000, 'newsletter', 1000, 1700000000000 + n
			FROM generate_series(1, ${events}) AS n`,
			`ALTER TABLE ${eventTable} ADD PRIMARY KEY (tid)`,
			`CREATE INDEX subscription_event_id ON ${eventTable} (id)`,
			`VACUUM ANALYZE ${eventTable}`,
			'CHECKPOINT',
		]);
	}

	async addAccounts(accounts: number): Promise<void> {
		await this.query(
			`INSERT INTO caskade_control.account (aid, client_id, origins, created_at)
			SELECT 'c-a-bench-' || n, 1, '[]', 0 FROM generate_series(2, ${accounts}) AS n`,
		);
	}

	/** How long `caskade migrate` takes, the start of its process included. */
	async migrateSeconds(): Promise<number> {
		const startedAtMs = performance.now();
		await runCaskade('migrate', '--database', this.address, '--json');
		return (performance.now() - startedAtMs) / 1000;
	}

	async copy(): Promise<PostgresPlace> {
		copies++;
		const copy = `${this.#name}_${copies}`;
		await this.#server.query(`CREATE DATABASE ${copy} TEMPLATE ${this.#name}`);
		return new PostgresPlace(this.#server, copy);
	}

	async remove(): Promise<void> {
		await this.#server.query(`DROP DATABASE ${this.#name} WITH (FORCE)`);
	}
}
