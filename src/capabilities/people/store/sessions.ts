import { isoTime } from '../../../core/format/iso-time.ts';
import { deleteRows, insertRows, updateRows } from '../../../core/store/control/rows.ts';
import type { ControlDatabase, ControlDoors } from '../../../core/store/control/tables.ts';
import { isLive, type SignInMethod, sessionLifetime } from '../../../kit/person.ts';
import { selectPerson } from './people.ts';

declare module '../../../core/store/control/tables.ts' {
	interface ControlTables {
		session: {
			hash: string;
			user_id: string;
			method: SignInMethod;
			agent: string;
			created_at: number;
			used_at: number;
		};
	}
}

/** A session as people see it. */
export interface ListedSession {
	/** Names it, and does not open it. */
	readonly id: string;
	readonly email: string;
	readonly method: SignInMethod;
	/** Browser and system. */
	readonly agent: string;
	readonly createdAt: string;
	/** As of about an hour ago. */
	readonly usedAt: string;
}

/** A session that has not ended. */
export interface KnownSession {
	/** SHA-256 of its token, hex. */
	readonly hash: string;
	readonly personId: string;
	readonly method: SignInMethod;
	/** Browser and system. */
	readonly agent: string;
	readonly createdAtMs: number;
	readonly usedAtMs: number;
}

/** Sessions and the links that begin them. Only hashes of their tokens are kept. */
export function sessionStore({ database, change, now }: ControlDoors) {
	return {
		/** Begins a session, and forgets those that are over. */
		async begin(
			personId: string,
			{ hash, method, agent }: { hash: string; method: SignInMethod; agent: string },
		): Promise<void> {
			await change(async (database) => {
				const nowMs = now();
				await database
					.deleteFrom('session')
					.where(({ or, eb }) =>
						or([
							eb('created_at', '<=', nowMs - sessionLifetime.ms),
							eb('used_at', '<=', nowMs - sessionLifetime.idleMs),
						]),
					)
					.execute();
				const session = { hash, user_id: personId, method, agent, created_at: nowMs, used_at: nowMs };
				await insertRows(database, 'session', session);
			});
		},

		/** Records that a session was used. */
		async touch(hash: string): Promise<void> {
			await change((database) => updateRows(database, 'session', { hash }, { used_at: now() }));
		},

		/** Those that have not ended, the latest first: of one person, or of everybody. */
		async list(email?: string): Promise<ListedSession[]> {
			if (email !== undefined) await selectPerson(database, email);
			let query = database
				.selectFrom('session')
				.innerJoin('user', 'user.id', 'session.user_id')
				.selectAll('session')
				.select('user.email')
				.orderBy('session.used_at', 'desc')
				.orderBy('session.hash');
			if (email !== undefined) query = query.where('user.email', '=', email);
			return (await query.execute()).flatMap((row) =>
				isLive({ createdAtMs: row.created_at, usedAtMs: row.used_at }, now())
					? [
							{
								id: sessionId(row.hash),
								email: row.email,
								method: row.method,
								agent: row.agent,
								createdAt: isoTime(row.created_at),
								usedAt: isoTime(row.used_at),
							},
						]
					: [],
			);
		},

		/**
		 * Ends a person's sessions: all, the one of an id, or all but one.
		 * @returns how many there were
		 */
		end(email: string, { id, except }: { id?: string; except?: string } = {}): Promise<number> {
			return change(async (database) => {
				const person = await selectPerson(database, email);
				let query = database.deleteFrom('session').where('user_id', '=', person.id);
				if (id !== undefined)
					query = query.where('hash', 'like', `${id.replaceAll(/[^0-9a-f]/g, '-') || '-'}%`);
				if (except !== undefined) query = query.where('hash', '<>', except);
				return Number((await query.executeTakeFirst()).numDeletedRows);
			});
		},

		/**
		 * Keeps a link with which to sign in once.
		 * @param link.proves the method that was passed, where only a second factor is missing; `null` for a link
		 */
		async addLink(
			personId: string,
			link: { hash: string; proves: SignInMethod | null; lifetimeMs: number },
		): Promise<{ expiresAtMs: number }> {
			return change(async (database) => {
				const nowMs = now();
				const expiresAtMs = nowMs + link.lifetimeMs;
				await database.deleteFrom('login_link').where('expires_at', '<=', nowMs).execute();
				const { hash, proves } = link;
				await insertRows(database, 'login_link', {
					hash,
					user_id: personId,
					proves,
					expires_at: expiresAtMs,
				});
				return { expiresAtMs };
			});
		},

		/** Whom a link belongs to, as long as it is good. */
		async linkOf(hash: string): Promise<{ email: string; proves: SignInMethod | null } | undefined> {
			return database
				.selectFrom('login_link')
				.innerJoin('user', 'user.id', 'login_link.user_id')
				.select(['user.email', 'login_link.proves'])
				.where('login_link.hash', '=', hash)
				.where('login_link.expires_at', '>', now())
				.executeTakeFirst();
		},

		/** Uses a link up, with all others of that person. @returns false where another request has */
		useLink(hash: string): Promise<boolean> {
			return change(async (database) => {
				const link = await database
					.deleteFrom('login_link')
					.where('hash', '=', hash)
					.where('expires_at', '>', now())
					.returning('user_id')
					.executeTakeFirst();
				if (!link) return false;
				await deleteRows(database, 'login_link', { user_id: link.user_id });
				return true;
			});
		},
	};
}

/** Names a session in lists and forms. */
export function sessionId(hash: string): string {
	return hash.slice(0, 16);
}

/** The sessions that have not ended, by hash. */
export async function selectSessions(
	database: ControlDatabase,
	nowMs: number,
): Promise<ReadonlyMap<string, KnownSession>> {
	const rows = await database
		.selectFrom('session')
		.select([
			'hash',
			'user_id as personId',
			'method',
			'agent',
			'created_at as createdAtMs',
			'used_at as usedAtMs',
		])
		.where('created_at', '>', nowMs - sessionLifetime.ms)
		.where('used_at', '>', nowMs - sessionLifetime.idleMs)
		.execute();
	return new Map(rows.map((session) => [session.hash, session]));
}
