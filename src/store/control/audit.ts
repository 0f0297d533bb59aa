import { dayMs } from '../../durations.ts';
import { isoTime } from '../../format/iso-time.ts';
import type { ControlDoors } from './tables.ts';

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
export class AuditStore {
	readonly #doors: ControlDoors;

	constructor(doors: ControlDoors) {
		this.#doors = doors;
	}

	async add({ who, action, aid = null, about = null }: AuditEntry): Promise<void> {
		const { database } = this.#doors;
		const nowMs = this.#doors.now();
		await database.insertInto('audit').values({ at: nowMs, who, action, aid, about }).execute();
		await database
			.deleteFrom('audit')
			.where('at', '<', nowMs - keptMs)
			.execute();
	}

	/** The latest first. */
	async list({ aid, who, about, limit }: AuditFilter): Promise<StoredAuditEntry[]> {
		let query = this.#doors.database.selectFrom('audit').selectAll().orderBy('id', 'desc').limit(limit);
		if (aid !== undefined) query = query.where('aid', '=', aid);
		if (who !== undefined) query = query.where('who', '=', who);
		if (about !== undefined) query = query.where('about', '=', about);
		return (await query.execute()).map((row) => ({
			at: isoTime(row.at),
			who: row.who,
			action: row.action,
			aid: row.aid,
			about: row.about,
		}));
	}

	/** Of an erased visitor only stays that somebody did something with one. */
	async forget(accountId: number, vid: string): Promise<void> {
		await this.#doors.database
			.updateTable('audit')
			.set({ about: null })
			.where('aid', '=', (eb) => eb.selectFrom('account').select('aid').where('id', '=', accountId))
			.where('about', '=', vid)
			.execute();
	}
}
