import { createHmac, hash, randomBytes, timingSafeEqual } from 'node:crypto';

/** A secret of 256 random bits, for a session or a link. */
export function newToken(): string {
	return randomBytes(32).toString('base64url');
}

/** SHA-256 in hex; only this is stored. A random secret of this length needs neither salt nor stretching. */
export function hashToken(token: string): string {
	return hash('sha256', token, 'hex');
}

/** What every form of a session carries. Who does not know the session's token cannot make it up. */
export function formToken(sessionToken: string): string {
	return createHmac('sha256', sessionToken).update('form').digest('base64url');
}

export function isFormToken(presented: string | undefined, sessionToken: string): boolean {
	const expected = Buffer.from(formToken(sessionToken));
	const found = Buffer.from(presented ?? '');
	return found.length === expected.length && timingSafeEqual(found, expected);
}
