import { isoTime } from '../../../core/format/iso-time.ts';
import type { ControlDoors } from '../../../core/store/control/control-tables.ts';
import { having, inserting, type Reading, select, sql } from '../../../core/store/steps.ts';
import { isLive, type KnownSession, type SignInMethod, sessionLifetime } from '../../../kit/person.ts';
import { selectPerson } from './people-store.ts';

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

/** Sessions and the links that begin them. Only hashes of their tokens are kept. */
export function sessionStore({ read, change, now }: ControlDoors) {
	return {
		/** Begins a session, and forgets those that are over. */
		begin: (
			personId: string,
			{ hash, method, agent }: { hash: string; method: SignInMethod; agent: string },
		): Promise<void> =>
			change(function* () {
				const nowMs = now();
				yield* sql`DELETE FROM @session WHERE created_at <= ${nowMs - sessionLifetime.ms} OR used_at <= ${nowMs - sessionLifetime.idleMs}`;
				const session = { hash, user_id: personId, method, agent, created_at: nowMs, used_at: nowMs };
				yield* sql`INSERT INTO @session ${inserting(session)}`;
			}),

		/** Records that a session was used. */
		async touch(hash: string): Promise<void> {
			await change(() => sql`UPDATE @session SET used_at = ${now()} WHERE hash = ${hash}`);
		},

		/** Those that have not ended, the latest first: of one person, or of everybody. */
		list: (email?: string): Promise<ListedSession[]> => read(selectListed(now(), email)),

		/**
		 * Ends a person's sessions: all, the one of an id, or all but one.
		 * @returns how many there were
		 */
		end: (
			email: string,
			{ id, except }: { id?: string | undefined; except?: string | undefined } = {},
		): Promise<number> =>
			change(function* () {
				const person = yield* selectPerson(email);
				const one = id === undefined ? '%' : `${id.replaceAll(/[^0-9a-f]/g, '-') || '-'}%`;
				const ended =
					yield* sql`DELETE FROM @session WHERE user_id = ${person.id} AND hash LIKE ${one} AND hash <> ${except ?? ''} RETURNING hash`;
				return ended.length;
			}),

		/**
		 * Keeps a link with which to sign in once.
		 * @param link.proves the method that was passed, where only a second factor is missing; `null` for a link
		 */
		addLink: (
			personId: string,
			{ hash, proves, lifetimeMs }: { hash: string; proves: SignInMethod | null; lifetimeMs: number },
		): Promise<{ expiresAtMs: number }> =>
			change(function* () {
				const expiresAtMs = now() + lifetimeMs;
				yield* sql`DELETE FROM @login_link WHERE expires_at <= ${now()}`;
				yield* sql`INSERT INTO @login_link ${inserting({ hash, user_id: personId, proves, expires_at: expiresAtMs })}`;
				return { expiresAtMs };
			}),

		/** Whom a link belongs to, as long as it is good. */
		async linkOf(hash: string): Promise<{ email: string; proves: SignInMethod | null } | undefined> {
			const [link] = await read(
				select<{
					email: string;
					proves: SignInMethod | null;
				}>`person.email, link.proves FROM @login_link AS link JOIN @user AS person ON person.id = link.user_id WHERE link.hash = ${hash} AND link.expires_at > ${now()}`,
			);
			return link;
		},

		/** Uses a link up, with all others of that person. @returns false where another request has */
		useLink: (hash: string): Promise<boolean> =>
			change(function* () {
				const [link] =
					yield* sql`DELETE FROM @login_link WHERE hash = ${hash} AND expires_at > ${now()} RETURNING user_id`;
				if (!link) return false;
				yield* sql`DELETE FROM @login_link WHERE ${having({ user_id: link.user_id })}`;
				return true;
			}),
	};
}

/** Names a session in lists and forms. */
export function sessionId(hash: string): string {
	return hash.slice(0, 16);
}

interface SessionRow {
	readonly hash: string;
	readonly user_id: string;
	readonly email: string;
	readonly method: SignInMethod;
	readonly agent: string;
	readonly created_at: number;
	readonly used_at: number;
}

function* selectListed(nowMs: number, email: string | undefined): Reading<ListedSession[]> {
	if (email !== undefined) yield* selectPerson(email);
	const rows =
		yield* select<SessionRow>`session.*, person.email FROM @session AS session JOIN @user AS person ON person.id = session.user_id WHERE ${having({ email })} ORDER BY session.used_at DESC, session.hash`;
	return rows
		.filter((row) => isLive({ createdAtMs: row.created_at, usedAtMs: row.used_at }, nowMs))
		.map(({ hash, email, method, agent, created_at, used_at }) => ({
			id: sessionId(hash),
			email,
			method,
			agent,
			createdAt: isoTime(created_at),
			usedAt: isoTime(used_at),
		}));
}

/** The sessions that have not ended, by hash. */
export function* selectSessions(nowMs: number): Reading<ReadonlyMap<string, KnownSession>> {
	const rows =
		yield* select<KnownSession>`hash, user_id AS "personId", method, agent, created_at AS "createdAtMs", used_at AS "usedAtMs" FROM @session WHERE created_at > ${nowMs - sessionLifetime.ms} AND used_at > ${nowMs - sessionLifetime.idleMs}`;
	return new Map(rows.map((session) => [session.hash, session]));
}
