import { randomBytes } from 'node:crypto';
import { OperatorError } from '../../../core/errors.ts';
import { isoTime } from '../../../core/format/iso-time.ts';
import { selectAccount } from '../../../core/store/control/account-store.ts';
import type { ControlDoors } from '../../../core/store/control/control-tables.ts';
import {
	ask,
	type ColumnValues,
	changing,
	having,
	inserting,
	type Reading,
	type Steps,
	select,
	sql,
	values,
} from '../../../core/store/steps.ts';
import type { Grant, Person } from '../../../kit/person.ts';

interface PersonRow {
	readonly id: string;
	readonly email: string;
	readonly password: string | null;
	readonly totp_secret: string | null;
	readonly totp_step: number | null;
	readonly issuer: string | null;
	readonly created_at: number;
	readonly last_aid: string | null;
}

interface GrantRow extends Grant {
	readonly user_id: string;
}

/** A person as commands and pages show it. */
export interface StoredPerson extends Person {
	readonly hasPassword: boolean;
	/** Whether signing in takes a second factor. */
	readonly hasSecondFactor: boolean;
	/** The provider of single sign-on that they have signed in through. */
	readonly issuer: string | null;
	readonly createdAt: string;
}

/** What proves a person. */
export interface Credentials {
	readonly id: string;
	readonly email: string;
	/** In the PHC format. */
	readonly password: string | null;
	/** Base32. */
	readonly totpSecret: string | null;
	/** The last step whose code was used; `null` until a first code has proved the secret. */
	readonly totpStep: number | null;
}

/** A person as a provider of single sign-on knows them. Addresses change hands; these two do not. */
export interface Identity {
	readonly issuer: string;
	readonly subject: string;
}

const selectRows = (columns: ColumnValues) =>
	select<PersonRow>`* FROM @user WHERE ${having(columns)} ORDER BY email`;

/** Only those that have these values. */
const update = (id: string, changes: ColumnValues, columns: ColumnValues = {}) =>
	sql`UPDATE @user SET ${changing(changes)} WHERE ${having({ id, ...columns })} RETURNING id`;

/** People, what they may do, and what proves them. */
export function peopleStore({ read, write, change, now }: ControlDoors) {
	return {
		/** @throws OperatorError where there is one of that address, or no such account */
		create: (email: string, grants: readonly Grant[]): Promise<Person> =>
			change(function* () {
				if ((yield* selectRows({ email })).length > 0)
					throw new OperatorError(
						`${email} exists already; 'caskade user link ${email}' makes another link.`,
					);
				const id = `u_${randomBytes(6).toString('hex')}`;
				yield* sql`INSERT INTO @user ${inserting({ id, email, created_at: now() })}`;
				for (const grant of grants) yield* insertGrant(id, grant);
				return { id, email, grants };
			}),

		/** Everybody, by address. */
		list: (): Promise<StoredPerson[]> => read(selectPeople()),

		/** @throws OperatorError where there is none of that address */
		find: (email: string): Promise<StoredPerson> => read(selectPerson(email)),

		/** Removes a person and ends their sessions. @throws OperatorError where there is none */
		remove: (email: string): Promise<void> =>
			change(function* () {
				const { id } = yield* selectPerson(email);
				yield [
					sql`DELETE FROM @session WHERE user_id = ${id}`,
					sql`DELETE FROM @login_link WHERE user_id = ${id}`,
					sql`DELETE FROM @recovery_code WHERE user_id = ${id}`,
					sql`DELETE FROM @grant WHERE user_id = ${id}`,
					sql`DELETE FROM @named_view WHERE user_id = ${id}`,
					sql`DELETE FROM @user WHERE id = ${id}`,
				];
			}),

		/** Gives roles; on an account that the person has one for, in its place. @throws OperatorError where there is none */
		grant: (email: string, grants: readonly Grant[]): Promise<StoredPerson> =>
			change(function* () {
				const { id } = yield* selectPerson(email);
				for (const grant of grants) yield* insertGrant(id, grant);
				return yield* selectPerson(email);
			}),

		/** Takes roles away, `null` being the one on all accounts. @throws OperatorError where there is none */
		revoke: (email: string, aids: readonly (string | null)[]): Promise<StoredPerson> =>
			change(function* () {
				const { id } = yield* selectPerson(email);
				for (const aid of aids) yield* deleteGrant({ user_id: id, account_id: yield* accountIdOf(aid) });
				return yield* selectPerson(email);
			}),

		/** Undefined where there is nobody of that address. */
		async credentials(email: string): Promise<Credentials | undefined> {
			const [row] = await read(selectRows({ email }));
			if (!row) return undefined;
			const { id, password, totp_secret: totpSecret, totp_step: totpStep } = row;
			return { id, email, password, totpSecret, totpStep };
		},

		/** The account that a person has opened last in the console. */
		lastAid: async (id: string): Promise<string | null> =>
			(await read(selectRows({ id })))[0]?.last_aid ?? null,

		/** Remembers the account that a person has opened. Writes only where it is another one. */
		async rememberAid(id: string, aid: string): Promise<void> {
			if ((await this.lastAid(id)) !== aid) await write(() => update(id, { last_aid: aid }));
		},

		/** @param password in the PHC format */
		async setPassword(id: string, password: string): Promise<void> {
			await change(() => update(id, { password }));
		},

		/** Keeps a secret that no code has proved yet, so that it is not asked for. A proved one stays. */
		async offerSecondFactor(id: string, secret: string): Promise<void> {
			await change(() => update(id, { totp_secret: secret }, { totp_step: null }));
		},

		/**
		 * Uses up a code's step, which proves a secret that was offered.
		 * @returns false where this step or a later one was used before, by any server
		 */
		async useStep(id: string, step: number): Promise<boolean> {
			const used = await change(
				() =>
					sql`UPDATE @user SET totp_step = ${step} WHERE id = ${id} AND totp_secret IS NOT NULL AND (totp_step IS NULL OR totp_step < ${step}) RETURNING id`,
			);
			return used.length === 1;
		},

		/** Signing in takes no second factor any more. */
		removeSecondFactor: (id: string): Promise<void> =>
			change(function* () {
				yield* update(id, { totp_secret: null, totp_step: null });
				yield* sql`DELETE FROM @recovery_code WHERE user_id = ${id}`;
			}),

		/** @param hashes of new codes, which take the place of all earlier ones */
		setRecoveryCodes: (id: string, hashes: readonly string[]): Promise<void> =>
			change(function* () {
				yield* sql`DELETE FROM @recovery_code WHERE user_id = ${id}`;
				yield* sql`INSERT INTO @recovery_code (hash, user_id) ${values(hashes.map((hash) => [hash, id]))}`;
			}),

		/** Uses up a recovery code. @returns false where there is none */
		async useRecoveryCode(id: string, hash: string): Promise<boolean> {
			const used = await change(
				() => sql`DELETE FROM @recovery_code WHERE user_id = ${id} AND hash = ${hash} RETURNING hash`,
			);
			return used.length > 0;
		},

		/** How many recovery codes are left. */
		recoveryCodes: async (id: string): Promise<number> =>
			(await read(select`hash FROM @recovery_code WHERE user_id = ${id}`)).length,

		/** Whom an identity is tied to. */
		async withIdentity({ issuer, subject }: Identity): Promise<Pick<Person, 'id' | 'email'> | undefined> {
			const [row] = await read(selectRows({ issuer, subject }));
			return row && { id: row.id, email: row.email };
		},

		/** Unties whatever identity a person has. */
		async removeIdentity(id: string): Promise<void> {
			await change(() => update(id, { issuer: null, subject: null }));
		},

		/**
		 * Ties an identity to a person who has none yet.
		 * @returns false where the person has another one, or somebody else has this one
		 */
		setIdentity: (id: string, { issuer, subject }: Identity): Promise<boolean> =>
			change(function* () {
				const [taken] = yield* selectRows({ issuer, subject });
				if (taken) return taken.id === id;
				return (yield* update(id, { issuer, subject }, { issuer: null })).length > 0;
			}),
	};
}

/** Everybody, by address. */
export function* selectPeople(email?: string): Reading<StoredPerson[]> {
	const { people, grants } = yield* ask({
		people: selectRows({ email }),
		grants: select<GrantRow>`granted.user_id, account.aid, granted.role FROM @grant AS granted LEFT JOIN @account AS account ON account.id = granted.account_id ORDER BY account.aid`,
	});
	const ofPerson = Map.groupBy(grants, (row) => row.user_id);
	return people.map((row) => ({
		id: row.id,
		email: row.email,
		grants: (ofPerson.get(row.id) ?? []).map(({ aid, role }) => ({ aid, role })),
		hasPassword: row.password !== null,
		hasSecondFactor: row.totp_step !== null,
		issuer: row.issuer,
		createdAt: isoTime(row.created_at),
	}));
}

/** @throws OperatorError where there is none of that address */
export function* selectPerson(email: string): Reading<StoredPerson> {
	const [person] = yield* selectPeople(email);
	if (!person) throw new OperatorError(`There is no user ${email}; 'caskade user list' shows all.`);
	return person;
}

const deleteGrant = (columns: ColumnValues) => sql`DELETE FROM @grant WHERE ${having(columns)}`;

function* insertGrant(userId: string, { aid, role }: Grant): Steps<void> {
	const grant = { user_id: userId, account_id: yield* accountIdOf(aid) };
	yield* deleteGrant(grant);
	yield* sql`INSERT INTO @grant ${inserting({ ...grant, role })}`;
}

function* accountIdOf(aid: string | null): Reading<number | null> {
	return aid === null ? null : (yield* selectAccount(aid)).id;
}
