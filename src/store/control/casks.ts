import {
	caskLifetimeMs,
	keyPropagationMs,
	newSigningKey,
	type SigningKey,
} from '../../domain/signing-key.ts';
import { type ControlDatabase, nextSeq } from './tables.ts';

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

/** Adds a key that signs from now on. Earlier keys are retired when the casks that they signed have expired. */
export async function rotateSigningKeys(database: ControlDatabase, nowMs: number): Promise<SigningKey> {
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

/** Revokes the casks that were issued to these visitors and visits up to a moment. A revocation is final. */
export async function insertRevocations(
	database: ControlDatabase,
	accountId: number,
	subjects: readonly string[],
	upToMs: number,
	nowMs: number,
): Promise<void> {
	await database
		.deleteFrom('revocation')
		.where('revoked_at', '<=', nowMs - caskLifetimeMs)
		.execute();
	for (const subject of subjects)
		await database
			.insertInto('revocation')
			.values({ account_id: accountId, subject, revoked_at: upToMs })
			.onConflict((conflict) =>
				conflict
					.columns(['account_id', 'subject'])
					.doUpdateSet({ revoked_at: upToMs })
					.where('revocation.revoked_at', '<', upToMs),
			)
			.execute();
}

/** When the casks of a visitor or visit were last revoked. */
export async function selectRevokedAtMs(
	database: ControlDatabase,
	accountId: number,
	subject: string,
): Promise<number | undefined> {
	const row = await database
		.selectFrom('revocation')
		.select('revoked_at')
		.where('account_id', '=', accountId)
		.where('subject', '=', subject)
		.executeTakeFirst();
	return row?.revoked_at;
}
