import { hash, randomBytes } from 'node:crypto';

/** What a key is for: to upload events and ask after them, to read reports, or to manage accounts. It can do nothing else. */
export const keyScopes = ['upload', 'read', 'manage'] as const;
export type KeyScope = (typeof keyScopes)[number];

/** Lets people and secret scanners recognise a key. */
const prefix = 'caskade_key_';

/** Generates an API key: the prefix and 256 random bits in base64url. Its id is random and not part of the secret. */
export function newApiKey(): { id: string; key: string } {
	return { id: `k_${randomBytes(6).toString('hex')}`, key: prefix + randomBytes(32).toString('base64url') };
}

/**
 * SHA-256 of a key in hex; only this is stored. A key of 256 random bits needs neither salt nor stretching, and the
 * timing of an index over hashes reveals nothing about a key.
 */
export function hashApiKey(key: string): string {
	return hash('sha256', key, 'hex');
}
