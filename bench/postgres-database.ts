import { openStore } from '../src/assembly/open-store.ts';
import { type BenchDatabase, maxVisitorsWithHistory, type VisitorBytes } from './database.ts';
import type { PostgresServer } from './postgres-server.ts';
import { seedVisitors } from './postgres-visitors.ts';
import { runCaskade } from './servers.ts';

/** The table of the first account's events. */
export const eventTable = 'caskade_account_1.subscription_event';

let copies = 0;

/** A database of a PostgreSQL server. */
export class PostgresBenchDatabase implements BenchDatabase {
	readonly #server: PostgresServer;
	readonly #name: string;

	constructor(server: PostgresServer, name: string) {
		this.#server = server;
		this.#name = name;
	}

	static async create(server: PostgresServer, name: string): Promise<PostgresBenchDatabase> {
		await server.query(`CREATE DATABASE ${name}`);
		return new PostgresBenchDatabase(server, name);
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
		return this.#number(`SELECT count(*) AS number FROM ${eventTable}`);
	}

	countJoined(): Promise<number> {
		return this.#number(`SELECT count(*) AS number FROM ${eventTable} WHERE vid IS NOT NULL`);
	}

	countHits(): Promise<number> {
		return this.#number('SELECT count(*) AS number FROM caskade_account_1.hit');
	}

	bytes(): Promise<number> {
		return this.#number(
			`SELECT sum(pg_total_relation_size(oid)) AS number FROM pg_class
			WHERE relnamespace = 'caskade_account_1'::regnamespace AND relkind = 'r'`,
		);
	}

	async #number(sql: string): Promise<number> {
		const [row] = await this.query(sql);
		return Number(row?.number);
	}

	async addEvents(events: number): Promise<void> {
		await this.query([
			"SET maintenance_work_mem = '1GB'",
			// Creating the indexes after the inserts takes a fraction of the time.
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

	addVisitors(visitors: number): Promise<VisitorBytes> {
		return seedVisitors((statements) => this.query(statements), visitors);
	}

	async sampleVids(number: number, which?: 'with history'): Promise<string[]> {
		const count = await this.#number('SELECT max(id) AS number FROM caskade_account_1.visitor');
		const max = which ? Math.min(maxVisitorsWithHistory, count) : count;
		const rows = await this.query(
			`SELECT vid FROM (SELECT 1 + floor(random() * ${max})::bigint AS id FROM generate_series(1, ${number})) AS chosen
			JOIN caskade_account_1.visitor USING (id)`,
		);
		return rows.map(({ vid }) => String(vid));
	}

	async addAccounts(total: number): Promise<void> {
		const store = await openStore(this.address);
		for (let account = 2; account <= total; account++) await store.createAccountDatabase(account);
		await store.close();
		await this.query(
			`INSERT INTO caskade_control.account (aid, client_id, origins, created_at)
			SELECT 'c-a-bench-' || n, 1, '[]', 0 FROM generate_series(2, ${total}) AS n`,
		);
	}

	/** Duration of `caskade migrate`, including the start of its process. */
	async migrateSeconds(): Promise<number> {
		const startedAtMs = performance.now();
		await runCaskade('migrate', '--database', this.address, '--json');
		return (performance.now() - startedAtMs) / 1000;
	}

	async copy(): Promise<PostgresBenchDatabase> {
		copies++;
		const copy = `${this.#name}_${copies}`;
		await this.#server.query(`CREATE DATABASE ${copy} TEMPLATE ${this.#name}`);
		return new PostgresBenchDatabase(this.#server, copy);
	}

	async remove(): Promise<void> {
		await this.#server.query(`DROP DATABASE ${this.#name} WITH (FORCE)`);
	}
}
