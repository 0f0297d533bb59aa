import type { Generated } from 'kysely';
import { dayMs } from '../../../core/durations.ts';
import { isoTime } from '../../../core/format/iso-time.ts';
import { insertRows } from '../../../core/store/control/rows.ts';
import { type ControlDoors, given } from '../../../core/store/control/tables.ts';

declare module '../../../core/store/control/tables.ts' {
	interface ControlTables {
		audit: {
			id: Generated<number>;
			at: number;
			who: string;
			action: string;
			aid: string | null;
			about: string | null;
		};
	}
}

/** Long enough to look into last year's books. */
const keptMs = 400 * dayMs;

/** What somebody did. */
export interface AuditEntry {
	/** An email address, or where a command did it: `command line`. */
	readonly who: string;
	/** A noun and what was done with it, for example `visitor viewed`. */
	readonly action: string;
	/** The account that it concerns, if any. */
	readonly aid?: string | null;
	/** Whom or what: a visitor, the id of a key, an address. Never a secret. */
	readonly about?: string | null;
}

export interface StoredAuditEntry extends Required<AuditEntry> {
	readonly at: string;
}

export interface AuditFilter {
	readonly aid?: string | undefined;
	readonly who?: string | undefined;
	readonly about?: string | undefined;
	readonly limit: number;
}

/** Who looked at whom, and who changed what, for 400 days. */
export function auditStore({ database, now }: ControlDoors) {
	return {
		async add({ who, action, aid = null, about = null }: AuditEntry): Promise<void> {
			const nowMs = now();
			await insertRows(database, 'audit', { at: nowMs, who, action, aid, about });
			await database
				.deleteFrom('audit')
				.where('at', '<', nowMs - keptMs)
				.execute();
		},

		/** The latest first. */
		async list({ aid, who, about, limit }: AuditFilter): Promise<StoredAuditEntry[]> {
			const rows = await database
				.selectFrom('audit')
				.select(['at', 'who', 'action', 'aid', 'about'])
				.where(({ and }) => and(given({ aid, who, about })))
				.orderBy('id', 'desc')
				.limit(limit)
				.execute();
			return rows.map(({ at, ...entry }) => ({ at: isoTime(at), ...entry }));
		},

		/** Of an erased visitor only stays that somebody did something with one. */
		async forget(accountId: number, vid: string): Promise<void> {
			await database
				.updateTable('audit')
				.set({ about: null })
				.where('aid', '=', (eb) => eb.selectFrom('account').select('aid').where('id', '=', accountId))
				.where('about', '=', vid)
				.execute();
		},
	};
}
