import { randomBytes } from 'node:crypto';
import { OperatorError } from '../../../core/errors.ts';
import { isoTime } from '../../../core/format/iso-time.ts';
import { selectAccount } from '../../../core/store/control/accounts.ts';
import { deleteRows, insertRows, selectRows, updateRows } from '../../../core/store/control/rows.ts';
import { type ControlDatabase, type ControlDoors, given } from '../../../core/store/control/tables.ts';
import type { Grant, Person, PersonRole, SignInMethod } from '../../../kit/person.ts';

declare module '../../../core/store/control/tables.ts' {
	interface ControlTables {
		user: {
			id: string;
			email: string;
			password: string | null;
			totp_secret: string | null;
			totp_step: number | null;
			issuer: string | null;
			subject: string | null;
			created_at: number;
			last_aid: string | null;
		};
		grant: { user_id: string; account_id: number | null; role: PersonRole };
		login_link: { hash: string; user_id: string; proves: SignInMethod | null; expires_at: number };
		recovery_code: { hash: string; user_id: string };
	}
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

/** People, what they may do, and what proves them. */
export function peopleStore({ database, change, now }: ControlDoors) {
	return {
		/** @throws OperatorError where there is one of that address, or no such account */
		create(email: string, grants: readonly Grant[]): Promise<Person> {
			return change(async (database) => {
				const [known] = await selectRows(database, 'user', { email });
				if (known)
					throw new OperatorError(
						`${email} exists already; 'caskade user link ${email}' makes another link.`,
					);
				const id = `u_${randomBytes(6).toString('hex')}`;
				await insertRows(database, 'user', { id, email, created_at: now() });
				for (const grant of grants) await insertGrant(database, id, grant);
				return { id, email, grants };
			});
		},

		/** Everybody, by address. */
		list(): Promise<StoredPerson[]> {
			return selectPeople(database);
		},

		/** @throws OperatorError where there is none of that address */
		find(email: string): Promise<StoredPerson> {
			return selectPerson(database, email);
		},

		/** Removes a person and ends their sessions. @throws OperatorError where there is none */
		remove(email: string): Promise<void> {
			return change(async (database) => {
				const { id } = await selectPerson(database, email);
				for (const table of ['session', 'login_link', 'recovery_code', 'grant', 'named_view'] as const)
					await deleteRows(database, table, { user_id: id });
				await deleteRows(database, 'user', { id });
			});
		},

		/** Gives roles; on an account that the person has one for, in its place. @throws OperatorError where there is none */
		grant(email: string, grants: readonly Grant[]): Promise<StoredPerson> {
			return change(async (database) => {
				const { id } = await selectPerson(database, email);
				for (const grant of grants) await insertGrant(database, id, grant);
				return selectPerson(database, email);
			});
		},

		/** Takes roles away, `null` being the one on all accounts. @throws OperatorError where there is none */
		revoke(email: string, aids: readonly (string | null)[]): Promise<StoredPerson> {
			return change(async (database) => {
				const { id } = await selectPerson(database, email);
				for (const aid of aids)
					await deleteRows(database, 'grant', { user_id: id, account_id: await accountIdOf(database, aid) });
				return selectPerson(database, email);
			});
		},

		/** Undefined where there is nobody of that address. */
		async credentials(email: string): Promise<Credentials | undefined> {
			const [row] = await selectRows(database, 'user', { email });
			if (!row) return undefined;
			const { id, password, totp_secret: totpSecret, totp_step: totpStep } = row;
			return { id, email, password, totpSecret, totpStep };
		},

		/** The account that a person has opened last in the console. */
		async lastAid(id: string): Promise<string | null> {
			const [row] = await selectRows(database, 'user', { id });
			return row?.last_aid ?? null;
		},

		/** Remembers the account that a person has opened. Writes only where it is another one. */
		async rememberAid(id: string, aid: string): Promise<void> {
			if ((await this.lastAid(id)) !== aid) await updateRows(database, 'user', { id }, { last_aid: aid });
		},

		/** @param password in the PHC format */
		async setPassword(id: string, password: string): Promise<void> {
			await change((database) => updateRows(database, 'user', { id }, { password }));
		},

		/** Keeps a secret that no code has proved yet, so that it is not asked for. A proved one stays. */
		async offerSecondFactor(id: string, secret: string): Promise<void> {
			await change((database) =>
				updateRows(database, 'user', { id, totp_step: null }, { totp_secret: secret }),
			);
		},

		/**
		 * Uses up a code's step, which proves a secret that was offered.
		 * @returns false where this step or a later one was used before, by any server
		 */
		useStep(id: string, step: number): Promise<boolean> {
			return change(async (database) => {
				const { numUpdatedRows } = await database
					.updateTable('user')
					.set({ totp_step: step })
					.where('id', '=', id)
					.where('totp_secret', 'is not', null)
					.where(({ or, eb }) => or([eb('totp_step', 'is', null), eb('totp_step', '<', step)]))
					.executeTakeFirst();
				return numUpdatedRows === 1n;
			});
		},

		/** Signing in takes no second factor any more. */
		async removeSecondFactor(id: string): Promise<void> {
			await change(async (database) => {
				await updateRows(database, 'user', { id }, { totp_secret: null, totp_step: null });
				await deleteRows(database, 'recovery_code', { user_id: id });
			});
		},

		/** @param hashes of new codes, which take the place of all earlier ones */
		async setRecoveryCodes(id: string, hashes: readonly string[]): Promise<void> {
			await change(async (database) => {
				await deleteRows(database, 'recovery_code', { user_id: id });
				const codes = hashes.map((hash) => ({ hash, user_id: id }));
				await insertRows(database, 'recovery_code', codes);
			});
		},

		/** Uses up a recovery code. @returns false where there is none */
		useRecoveryCode(id: string, hash: string): Promise<boolean> {
			return change(
				async (database) => (await deleteRows(database, 'recovery_code', { user_id: id, hash })) > 0,
			);
		},

		/** How many recovery codes are left. */
		async recoveryCodes(id: string): Promise<number> {
			return (await selectRows(database, 'recovery_code', { user_id: id })).length;
		},

		/** Whom an identity is tied to. */
		async withIdentity({ issuer, subject }: Identity): Promise<Pick<Person, 'id' | 'email'> | undefined> {
			const [row] = await selectRows(database, 'user', { issuer, subject });
			return row && { id: row.id, email: row.email };
		},

		/** Unties whatever identity a person has. */
		async removeIdentity(id: string): Promise<void> {
			await change((database) => updateRows(database, 'user', { id }, { issuer: null, subject: null }));
		},

		/**
		 * Ties an identity to a person who has none yet.
		 * @returns false where the person has another one, or somebody else has this one
		 */
		setIdentity(id: string, { issuer, subject }: Identity): Promise<boolean> {
			return change(async (database) => {
				const [taken] = await selectRows(database, 'user', { issuer, subject });
				if (taken) return taken.id === id;
				return (await updateRows(database, 'user', { id, issuer: null }, { issuer, subject })) > 0;
			});
		},
	};
}

/** Everybody, by address. */
export async function selectPeople(database: ControlDatabase, email?: string): Promise<StoredPerson[]> {
	const people = await selectRows(database, 'user', given({ email }), 'email');
	const grants = Map.groupBy(
		await database
			.selectFrom('grant')
			.leftJoin('account', 'account.id', 'grant.account_id')
			.select(['grant.user_id', 'account.aid', 'grant.role'])
			.orderBy('account.aid')
			.execute(),
		(row) => row.user_id,
	);
	return people.map((row) => ({
		id: row.id,
		email: row.email,
		grants: (grants.get(row.id) ?? []).map(({ aid, role }) => ({ aid, role })),
		hasPassword: row.password !== null,
		hasSecondFactor: row.totp_step !== null,
		issuer: row.issuer,
		createdAt: isoTime(row.created_at),
	}));
}

/** @throws OperatorError where there is none of that address */
export async function selectPerson(database: ControlDatabase, email: string): Promise<StoredPerson> {
	const [person] = await selectPeople(database, email);
	if (!person) throw new OperatorError(`There is no user ${email}; 'caskade user list' shows all.`);
	return person;
}

async function insertGrant(database: ControlDatabase, userId: string, { aid, role }: Grant): Promise<void> {
	const grant = { user_id: userId, account_id: await accountIdOf(database, aid) };
	await deleteRows(database, 'grant', grant);
	await insertRows(database, 'grant', { ...grant, role });
}

async function accountIdOf(database: ControlDatabase, aid: string | null): Promise<number | null> {
	return aid === null ? null : (await selectAccount(database, aid)).id;
}
