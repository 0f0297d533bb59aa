import { hash, randomBytes } from 'node:crypto';

/** So that a person, or a scanner of leaked secrets, knows what it is. */
const prefix = 'caskade_key_';

/** A new API key: the prefix and 256 random bits, base64url. Its id is random too and no part of the secret. */
export function newApiKey(): { id: string; key: string } {
	return { id: `k_${randomBytes(6).toString('hex')}`, key: prefix + randomBytes(32).toString('base64url') };
}

/**
 * SHA-256 of a key, hex: all that is stored of it. The key has 256 bits of randomness, so it needs neither salt
 * nor stretching, and an index over hashes tells an attacker who measures time nothing about a key.
 */
export function hashApiKey(key: string): string {
	return hash('sha256', key, 'hex');
}
