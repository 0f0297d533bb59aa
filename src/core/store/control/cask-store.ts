import {
	caskLifetimeMs,
	keyPropagationMs,
	newSigningKey,
	type SigningKey,
} from '../../domain/signing-key.ts';
import { inserting, type Reading, type Steps, select, sql, values } from '../steps.ts';
import { unique } from '../unique.ts';
import { type ControlDoors, nextSeq } from './control-tables.ts';

/** The keys that still verify casks, newest first. */
export function* selectSigningKeys(nowMs: number): Reading<SigningKey[]> {
	const rows =
		yield* select<SigningKey>`kid, secret, created_at AS "createdAtMs", retires_at AS "retiresAtMs" FROM @signing_key WHERE retires_at IS NULL OR retires_at > ${nowMs} ORDER BY seq DESC`;
	// Those of SQLite have no prototype.
	return rows.map((row) => ({ ...row }));
}

function* rotateSigningKeys(nowMs: number): Steps<SigningKey> {
	yield [
		sql`DELETE FROM @signing_key WHERE retires_at <= ${nowMs}`,
		sql`UPDATE @signing_key SET retires_at = ${nowMs + caskLifetimeMs + keyPropagationMs} WHERE retires_at IS NULL`,
	];
	const key = newSigningKey(nowMs);
	const { kid, secret, createdAtMs } = key;
	const seq = yield* nextSeq('signing_key');
	yield* sql`INSERT INTO @signing_key ${inserting({ kid, secret, created_at: createdAtMs, seq })}`;
	return key;
}

export function caskStore({ read, change, now }: ControlDoors) {
	const signingKeys = () => read(selectSigningKeys(now()));
	return {
		/** The keys that still verify casks, newest first. */
		signingKeys,

		/** Returns the signing keys, and creates the first one if there is none. Of several processes, only one creates it. */
		async ensureSigningKeys(): Promise<SigningKey[]> {
			const known = await signingKeys();
			if (known.length > 0) return known;
			return change(function* () {
				const made = yield* selectSigningKeys(now());
				return made.length > 0 ? made : [yield* rotateSigningKeys(now())];
			});
		},

		/** Adds a key that signs from now on. Earlier keys are retired when the casks that they signed have expired. */
		rotateSigningKeys: () => change(() => rotateSigningKeys(now())),

		/**
		 * Revokes all casks issued so far to these visitors and visits. That is final.
		 * @param subjects each a `vid` or `sid`
		 * @param issuedUpToMs when their last cask was issued, by the issuer's clock
		 */
		revokeCasks: (accountId: number, subjects: readonly string[], issuedUpToMs = 0): Promise<void> =>
			change(function* () {
				const upToMs = Math.max(now(), issuedUpToMs);
				const rows = unique(subjects).map((subject) => [accountId, subject, upToMs]);
				yield [
					sql`DELETE FROM @revocation WHERE revoked_at <= ${now() - caskLifetimeMs}`,
					sql`INSERT INTO @revocation AS known (account_id, subject, revoked_at) ${values(rows)} ON CONFLICT (account_id, subject) DO UPDATE SET revoked_at = excluded.revoked_at WHERE known.revoked_at < excluded.revoked_at`,
				];
			}),

		/** When the casks of a visitor or visit were last revoked. */
		async casksRevokedAtMs(accountId: number, subject: string): Promise<number | undefined> {
			const [row] = await read(
				select<{
					revoked_at: number;
				}>`revoked_at FROM @revocation WHERE account_id = ${accountId} AND subject = ${subject}`,
			);
			return row?.revoked_at;
		},
	};
}
