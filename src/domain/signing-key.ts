import { randomBytes } from 'node:crypto';

/** From creation; the spec's section 8. */
export const caskLifetimeMs = 86_400_000;
/** Within this time every server knows a new key; only then it signs. */
export const spreadMs = 2000;

/** Signs casks, and verifies them until it retires. */
export interface SigningKey {
	readonly kid: string;
	/** 256 random bits, base64url. */
	readonly secret: string;
	readonly createdAtMs: number;
	/** Null for the newest. */
	readonly retiresAtMs: number | null;
}

export function newSigningKey(nowMs: number): SigningKey {
	return {
		kid: `s_${randomBytes(6).toString('hex')}`,
		secret: randomBytes(32).toString('base64url'),
		createdAtMs: nowMs,
		retiresAtMs: null,
	};
}

/**
 * The key to sign with: the newest that every server knows by now, or the oldest where all are that new.
 * @param keys the newest first
 */
export function signingKeyAt(keys: readonly SigningKey[], nowMs: number): SigningKey | undefined {
	return keys.find(({ createdAtMs }) => createdAtMs + spreadMs <= nowMs) ?? keys.at(-1);
}
