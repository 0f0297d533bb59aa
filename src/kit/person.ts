import { dayMs } from '../core/durations.ts';

/** What people may do, from least to most: each may do what those before it may. A server's roles are another matter. */
export const personRoles = ['viewer', 'analyst', 'operator', 'admin'] as const;
export type PersonRole = (typeof personRoles)[number];

/** What each role may besides what those before it may, in the order of the roles. */
export const rights = [
	/** See figures about many visitors. */
	'aggregates',
	/** See single visitors, edit segments, export. */
	'visitors',
	/** Keys, goals, models, webhooks, experiments, erasure. */
	'operate',
	/** People, plans, all accounts. */
	'administer',
] as const;
export type Right = (typeof rights)[number];

/** A role on one account, or on all of them, those of later included. */
export interface Grant {
	/** `null` for all accounts. */
	readonly aid: string | null;
	readonly role: PersonRole;
}

/** Somebody who may sign in to the console. */
export interface Person {
	readonly id: string;
	readonly email: string;
	readonly grants: readonly Grant[];
}

/**
 * @param aid the account; `null` for what belongs to none, which takes a role on all accounts
 * @param right null for what everybody may who has signed in
 */
export function may({ grants }: Pick<Person, 'grants'>, aid: string | null, right: Right | null): boolean {
	if (right === null) return true;
	const least = rights.indexOf(right);
	return grants.some(
		(grant) => (grant.aid === null || grant.aid === aid) && personRoles.indexOf(grant.role) >= least,
	);
}

/** How somebody has signed in. */
export type SignInMethod = 'link' | 'password' | 'sso';

/** How long a session lasts at most, and without being used. */
export const sessionLifetime = { ms: 30 * dayMs, idleMs: 7 * dayMs };

export function isLive(
	{ createdAtMs, usedAtMs }: { readonly createdAtMs: number; readonly usedAtMs: number },
	nowMs: number,
): boolean {
	return nowMs < createdAtMs + sessionLifetime.ms && nowMs < usedAtMs + sessionLifetime.idleMs;
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

/** A session that a request belongs to. */
export interface OpenSession {
	readonly person: Person;
	readonly session: KnownSession;
	readonly token: string;
}

export interface SignInClient {
	/** The client's address, for the limit of guesses. */
	readonly address: string | undefined;
	/** Browser and system. */
	readonly agent: string;
}
