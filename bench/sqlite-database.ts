import { copyFileSync, cpSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type BenchDatabase, maxVisitorsWithHistory, type VisitorBytes } from './database.ts';
import { seedVisitors } from './sqlite-visitors.ts';

let copies = 0;

/** A data folder. */
export class SqliteBenchDatabase implements BenchDatabase {
	readonly #folder: string;

	constructor(folder: string) {
		this.#folder = folder;
	}

	get address(): string {
		return `sqlite:${this.#folder}`;
	}

	async countEvents(): Promise<number> {
		return this.#number('SELECT count(*) AS number FROM subscription_event');
	}

	async countJoined(): Promise<number> {
		return this.#number('SELECT count(*) AS number FROM subscription_event WHERE vid IS NOT NULL');
	}

	async countHits(): Promise<number> {
		return this.#number('SELECT (SELECT count(*) FROM hit) + (SELECT count(*) FROM recent_hit) AS number');
	}

	async bytes(): Promise<number> {
		return statSync(this.#account(1)).size;
	}

	#number(sql: string): number {
		const database = new DatabaseSync(this.#account(1), { readOnly: true });
		const row = database.prepare(sql).get();
		database.close();
		return Number(row?.number);
	}

	async addEvents(events: number): Promise<void> {
		const database = new DatabaseSync(this.#account(1));
		// Creating the index after the inserts takes a fraction of the time. Only the final state is durable.
		const index = 'CREATE UNIQUE INDEX subscription_event_tid ON subscription_event (tid)';
		database.exec('PRAGMA synchronous = OFF; PRAGMA cache_size = -262144; BEGIN');
		database.exec('DROP INDEX subscription_event_tid');
		database
			.prepare(
				`WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < ?)
				INSERT INTO subscription_event (tid, subid, cid, evt, rvn, received_at)
				SELECT lower(hex(randomblob(16))) || 'abcd', printf('sub-%06d', n % 1000000),
					printf('cust-%06d', n % 1000000), 'newsletter', 1000, 1700000000000 + n FROM number`,
			)
			.run(events);
		database.exec(`${index}; COMMIT; PRAGMA synchronous = FULL; PRAGMA wal_checkpoint(TRUNCATE)`);
		database.close();
	}

	async addVisitors(visitors: number): Promise<VisitorBytes> {
		return seedVisitors(this.#account(1), visitors);
	}

	async sampleVids(number: number, which?: 'with history'): Promise<string[]> {
		const database = new DatabaseSync(this.#account(1), { readOnly: true });
		const row = database.prepare('SELECT max(id) AS count FROM visitor').get();
		const max = which ? Math.min(maxVisitorsWithHistory, Number(row?.count)) : Number(row?.count);
		const select = database.prepare('SELECT vid FROM visitor WHERE id = ?');
		const vids = Array.from({ length: number }, () =>
			String(select.get(1 + Math.floor(Math.random() * max))?.vid),
		);
		database.close();
		return vids;
	}

	/** Copies the first account's file, because the command line creates only one account at a time. */
	async addAccounts(total: number): Promise<void> {
		const control = new DatabaseSync(join(this.#folder, 'control.sqlite'));
		control
			.prepare(
				`WITH RECURSIVE number (n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM number WHERE n < ?)
				INSERT INTO account (id, aid, client_id, origins, created_at)
				SELECT n, 'c-a-bench-' || n, 1, '[]', 0 FROM number WHERE n <= ?`,
			)
			.run(total, total);
		control.close();
		for (let account = 2; account <= total; account++) {
			copyFileSync(this.#account(1), this.#account(account));
			const database = new DatabaseSync(this.#account(account));
			// The service refuses a file whose application_id is that of another account.
			database.exec(`PRAGMA synchronous = OFF; PRAGMA application_id = ${account}`);
			database.close();
		}
	}

	/** The first account's file. */
	get accountPath(): string {
		return this.#account(1);
	}

	#account(id: number): string {
		return join(this.#folder, `accounts/${id}.sqlite`);
	}

	async copy(): Promise<SqliteBenchDatabase> {
		copies++;
		const copy = `${this.#folder}-${copies}`;
		cpSync(this.#folder, copy, { recursive: true });
		return new SqliteBenchDatabase(copy);
	}

	async remove(): Promise<void> {
		rmSync(this.#folder, { recursive: true, force: true });
	}
}
