import type { StoreCapability } from '../core/capability.ts';
import { dayMs } from '../core/durations.ts';
import { isoTime } from '../core/format/iso-time.ts';
import type { ControlDoors } from '../core/store/control/control-tables.ts';
import { having, inserting, type Steps, select, sql } from '../core/store/steps.ts';

declare module '../core/capability.ts' {
	interface ControlMembers {
		readonly audit: ReturnType<typeof auditStore>;
	}
}

/** What acts write, whoever does them. */
export const auditing: StoreCapability & { readonly name: 'audit' } = {
	name: 'audit',
	nouns: {
		members: (doors) => ({ audit: auditStore(doors) }),
		tables: [{ name: 'audit', isCopied: true, account: 'aid', forgets: 'about' }],
	},
};

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
export function auditStore({ read, write, now }: ControlDoors) {
	return {
		add: ({ who, action, aid = null, about = null }: AuditEntry): Promise<void> =>
			write(function* (): Steps<void> {
				yield [
					sql`INSERT INTO @audit ${inserting({ at: now(), who, action, aid, about })}`,
					sql`DELETE FROM @audit WHERE at < ${now() - keptMs}`,
				];
			}),

		/** The latest first. */
		async list({ aid, who, about, limit }: AuditFilter): Promise<StoredAuditEntry[]> {
			const rows = await read(
				select<
					Required<AuditEntry> & { at: number }
				>`at, who, action, aid, about FROM @audit WHERE ${having({ aid, who, about })} ORDER BY id DESC LIMIT ${limit}`,
			);
			return rows.map(({ at, ...entry }) => ({ at: isoTime(at), ...entry }));
		},

		/** Of an erased visitor or customer, only the action is kept, not whom it concerned. */
		async forget(accountId: number, vid: string): Promise<void> {
			await write(
				() =>
					sql`UPDATE @audit SET about = NULL WHERE aid = (SELECT aid FROM @account WHERE id = ${accountId}) AND about = ${vid}`,
			);
		},
	};
}
