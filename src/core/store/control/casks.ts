import {
	caskLifetimeMs,
	keyPropagationMs,
	newSigningKey,
	type SigningKey,
} from '../../domain/signing-key.ts';
import { insertRows, nextSeq, selectRows, updateRows } from './rows.ts';
import type { ControlDatabase, ControlDoors } from './tables.ts';

/** The keys that still verify casks, newest first. */
export async function selectSigningKeys(database: ControlDatabase, nowMs: number): Promise<SigningKey[]> {
	const rows = await database
		.selectFrom('signing_key')
		.select(['kid', 'secret', 'created_at as createdAtMs', 'retires_at as retiresAtMs'])
		.where(({ or, eb }) => or([eb('retires_at', 'is', null), eb('retires_at', '>', nowMs)]))
		.orderBy('seq', 'desc')
		.execute();
	// Those of SQLite have no prototype.
	return rows.map((row) => ({ ...row }));
}

async function rotateSigningKeys(database: ControlDatabase, nowMs: number): Promise<SigningKey> {
	await database.deleteFrom('signing_key').where('retires_at', '<=', nowMs).execute();
	const retires_at = nowMs + caskLifetimeMs + keyPropagationMs;
	await updateRows(database, 'signing_key', { retires_at: null }, { retires_at });
	const key = newSigningKey(nowMs);
	const seq = await nextSeq(database, 'signing_key');
	const { kid, secret, createdAtMs } = key;
	await insertRows(database, 'signing_key', { kid, secret, created_at: createdAtMs, retires_at: null, seq });
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
			const [row] = await selectRows(database, 'revocation', { account_id: accountId, subject });
			return row?.revoked_at;
		},
	};
}
