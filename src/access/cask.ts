import { createSigner } from 'fast-jwt';
import { caskLifetimeMs, type SigningKey, signingKeyAt } from './signing-key.ts';

/** Whose data a cask opens: all of a visitor's, or one visit's. */
export type CaskScope = 'vid' | 'sid';

export interface CaskSubject {
	readonly aid: string;
	readonly scope: CaskScope;
	/** A `vid` or a `sid`, as the scope says. */
	readonly subject: string;
}

export interface CaskClaims extends CaskSubject {
	readonly issuedAtMs: number;
	/** From then on it opens nothing. */
	readonly expiresAtMs: number;
}

const subjectShape = /^[0-9a-f]{32}$/;

/** 32 lower-case hex digits, as a `vid` and a `sid` are. */
export function isSubject(value: unknown): value is string {
	return typeof value === 'string' && subjectShape.test(value);
}

/** What is signed; times in seconds since 1970. */
export type CaskPayload = Readonly<Record<'aid' | 'sub' | 'scope' | 'iat' | 'exp', string | number>>;

const signers = new WeakMap<SigningKey, (payload: CaskPayload) => string>();

function signerOf(key: SigningKey): (payload: CaskPayload) => string {
	let signer = signers.get(key);
	if (!signer) {
		signer = createSigner<CaskPayload>({ key: secretOf(key), algorithm: 'HS256', kid: key.kid });
		signers.set(key, signer);
	}
	return signer;
}

/** The first part of every cask that a key signs. */
export function headerOf(key: SigningKey): string {
	const cask = signerOf(key)({ aid: '', sub: '', scope: '', iat: 0, exp: 0 });
	return cask.slice(0, cask.indexOf('.'));
}

/** As bytes. */
export function secretOf(key: SigningKey): Buffer {
	return Buffer.from(key.secret, 'base64url');
}

/**
 * Issues a cask for 24 hours or less.
 * @param keys the newest first; one at least
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
	return { cask: signerOf(key)({ aid, sub: subject, scope, iat, exp }), expiresAtMs: exp * 1000 };
}
