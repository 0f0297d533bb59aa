import { readFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { setImmediate } from 'node:timers/promises';
import type { QuotaLedger } from '../../../src/core/access/quota.ts';
import type { QuotaHolding, QuotaSettlement } from '../../../src/core/domain/quota-lease.ts';
import { settleQuotas } from '../../../src/core/store/control/quota-leases.ts';
import { newestSchemaFile } from '../../../src/core/store/migrations.ts';
import { Connection } from '../../../src/core/store/sqlite/engine/sqlite-connection.ts';
import { runSteps } from '../../../src/core/store/sqlite/engine/sqlite-run-steps.ts';

const tables = readFileSync(newestSchemaFile('sqlite', 'control'), 'utf8');

interface Usage {
	readonly leased: number;
	readonly used: number;
}

/** What all servers share of quotas, as it is stored, without a disk. */
export class StoredQuotas {
	readonly connection = new Connection(new DatabaseSync(':memory:'));

	constructor() {
		const { database } = this.connection;
		database.exec('PRAGMA foreign_keys = OFF');
		database.exec(tables);
	}

	of(keyId: string, month: string): Usage {
		const row = this.connection.database
			.prepare('SELECT leased, used FROM usage WHERE key_id = ? AND month = ?')
			.get(keyId, month);
		return { leased: Number(row?.leased ?? 0), used: Number(row?.used ?? 0) };
	}

	/** Of all keys together. */
	months(): (Usage & { month: string })[] {
		return this.connection.database
			.prepare('SELECT month, sum(leased) AS leased, sum(used) AS used FROM usage GROUP BY month')
			.all()
			.map((row) => ({ month: String(row.month), leased: Number(row.leased), used: Number(row.used) }));
	}

	/** As if another server had begun on a data folder. */
	forgetLeases(): void {
		this.connection.database.exec('DELETE FROM quota_lease');
	}
}

let serverNumber = 0;

/** One server's way to what is stored. `delay` stands for the time that a database takes. */
export class MemoryLedger implements QuotaLedger {
	readonly stored: StoredQuotas;
	readonly #delay: () => Promise<unknown>;
	readonly #serverId = `server-${serverNumber++}`;
	leases = 0;

	constructor(delay: () => Promise<unknown> = setImmediate, stored = new StoredQuotas()) {
		this.#delay = delay;
		this.stored = stored;
	}

	row(keyId: string, month = '2026-11'): Usage {
		return this.stored.of(keyId, month);
	}

	async settleQuotas(settlements: readonly QuotaSettlement[]): Promise<(QuotaHolding | null)[]> {
		await this.#delay();
		if (settlements.some(({ ask }) => ask.kind === 'lease')) this.leases++;
		return this.settleNow(settlements);
	}

	settleNow(settlements: readonly QuotaSettlement[]): (QuotaHolding | null)[] {
		return runSteps(this.stored.connection, settleQuotas(this.#serverId, settlements));
	}
}
