import type { KeyObject } from 'node:crypto';
import type { CaskScope } from '../domain/cask-scope.ts';
import { caskLifetimeMs, type SigningKey, signingKeyAt } from '../domain/signing-key.ts';
import { jwtHeader, jwtSecret, signJwt } from './jwt.ts';

export interface CaskSubject {
	readonly aid: string;
	readonly scope: CaskScope;
	/** A `vid` or a `sid`, depending on the scope. */
	readonly subject: string;
}

export interface CaskClaims extends CaskSubject {
	readonly issuedAtMs: number;
	readonly expiresAtMs: number;
	/** The end as text, which every read tells. */
	readonly expiresAt: string;
}

/** The JWT payload; times in seconds since 1970. */
export type CaskPayload = Readonly<Record<'aid' | 'sub' | 'scope' | 'iat' | 'exp', string | number>>;

/** A signing key with what signing and verifying derive from it. */
export interface ReadySigningKey {
	/** The JWT header of every cask that the key signs. */
	readonly header: string;
	readonly secret: KeyObject;
}

const readyKeys = new WeakMap<SigningKey, ReadySigningKey>();

/** Cached for each key, because every hit issues a cask. */
export function readySigningKey(key: SigningKey): ReadySigningKey {
	return readyKeys.getOrInsertComputed(key, () => ({
		header: jwtHeader(key.kid),
		secret: jwtSecret(key.secret),
	}));
}

/**
 * Issues a cask that is valid for 24 hours or less.
 * @param keys at least one, newest first
 */
export function issueCask(
	keys: readonly SigningKey[],
	{ aid, scope, subject }: CaskSubject,
	nowMs: number,
	lifetimeMs: number = caskLifetimeMs,
): { cask: string; expiresAtMs: number } {
	const key = signingKeyAt(keys, nowMs);
	if (!key) throw new Error('there is no signing key');
	const iat = Math.floor(nowMs / 1000);
	const exp = iat + Math.floor(Math.min(lifetimeMs, caskLifetimeMs) / 1000);
	const { header, secret } = readySigningKey(key);
	const payload: CaskPayload = { aid, sub: subject, scope, iat, exp };
	return { cask: signJwt(header, payload, secret), expiresAtMs: exp * 1000 };
}
