import { randomBytes } from 'node:crypto';
import { dayMs } from '../durations.ts';

/** Section 8 of the specification. */
export const caskLifetimeMs = dayMs;
/** Servers learn of a new key within this time. It does not sign before that. */
export const keyPropagationMs = 2000;

/** A key that signs casks, and verifies them until it is retired. */
export interface SigningKey {
	readonly kid: string;
	/** 256 random bits, base64url. */
	readonly secret: string;
	readonly createdAtMs: number;
	/** Null for the newest key. */
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
 * The key to sign with: the newest that every server knows by now, or the oldest if all keys are too new.
 * @param keys newest first
 */
export function signingKeyAt(keys: readonly SigningKey[], nowMs: number): SigningKey | undefined {
	return keys.find(({ createdAtMs }) => createdAtMs + keyPropagationMs <= nowMs) ?? keys.at(-1);
}
