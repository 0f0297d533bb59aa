import {
	caskLifetimeMs,
	keyPropagationMs,
	newSigningKey,
	type SigningKey,
} from '../../domain/signing-key.ts';
import { type ControlDatabase, type ControlDoors, nextSeq } from './tables.ts';

/** The keys that still verify casks, newest first. */
export async function selectSigningKeys(database: ControlDatabase, nowMs: number): Promise<SigningKey[]> {
	const rows = await database
		.selectFrom('signing_key')
		.selectAll()
		.where(({ or, eb }) => or([eb('retires_at', 'is', null), eb('retires_at', '>', nowMs)]))
		.orderBy('seq', 'desc')
		.execute();
	return rows.map((row) => ({
		kid: row.kid,
		secret: row.secret,
		createdAtMs: row.created_at,
		retiresAtMs: row.retires_at,
	}));
}

async function rotateSigningKeys(database: ControlDatabase, nowMs: number): Promise<SigningKey> {
	await database.deleteFrom('signing_key').where('retires_at', '<=', nowMs).execute();
	await database
		.updateTable('signing_key')
		.set({ retires_at: nowMs + caskLifetimeMs + keyPropagationMs })
		.where('retires_at', 'is', null)
		.execute();
	const key = newSigningKey(nowMs);
	await database
		.insertInto('signing_key')
		.values({
			kid: key.kid,
			secret: key.secret,
			created_at: key.createdAtMs,
			retires_at: null,
			seq: await nextSeq(database, 'signing_key'),
		})
		.execute();
	return key;
}

export function caskStore({ database, change, now }: ControlDoors) {
	const signingKeys = () => selectSigningKeys(database, now());
	return {
		/** The keys that still verify casks, newest first. */
		signingKeys,

		/** Returns the signing keys, and creates the first one if there is none. Of several processes, only one creates it. */
		async ensureSigningKeys(): Promise<SigningKey[]> {
			const known = await signingKeys();
			if (known.length > 0) return known;
			return change(async (transaction) => {
				const made = await selectSigningKeys(transaction, now());
				return made.length > 0 ? made : [await rotateSigningKeys(transaction, now())];
			});
		},

		/** Adds a key that signs from now on. Earlier keys are retired when the casks that they signed have expired. */
		rotateSigningKeys: () => change((transaction) => rotateSigningKeys(transaction, now())),

		/**
		 * Revokes all casks issued so far to these visitors and visits. That is final.
		 * @param subjects each a `vid` or `sid`
		 * @param issuedUpToMs when their last cask was issued, by the issuer's clock
		 */
		revokeCasks: (accountId: number, subjects: readonly string[], issuedUpToMs = 0): Promise<void> =>
			change(async (transaction) => {
				const upToMs = Math.max(now(), issuedUpToMs);
				await transaction
					.deleteFrom('revocation')
					.where('revoked_at', '<=', now() - caskLifetimeMs)
					.execute();
				for (const subject of subjects)
					await transaction
						.insertInto('revocation')
						.values({ account_id: accountId, subject, revoked_at: upToMs })
						.onConflict((conflict) =>
							conflict
								.columns(['account_id', 'subject'])
								.doUpdateSet({ revoked_at: upToMs })
								.where('revocation.revoked_at', '<', upToMs),
						)
						.execute();
			}),

		/** When the casks of a visitor or visit were last revoked. */
		async casksRevokedAtMs(accountId: number, subject: string): Promise<number | undefined> {
			const row = await database
				.selectFrom('revocation')
				.select('revoked_at')
				.where(({ and }) => and({ account_id: accountId, subject }))
				.executeTakeFirst();
			return row?.revoked_at;
		},
	};
}
