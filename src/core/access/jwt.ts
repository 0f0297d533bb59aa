import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto';

/**
 * JSON Web Tokens in the compact form of RFC 7515 and RFC 7519, signed with HMAC SHA-256 only. A token is
 * `header.payload.signature`, each part in base64url.
 */

const tokenShape = /^[\w-]+\.[\w-]+\.[\w-]{42}[AEIMQUYcgkosw048]$/;

/**
 * The header of every token that a key signs.
 * @param kid the key's id
 */
export function jwtHeader(kid: string): string {
	return encode({ alg: 'HS256', typ: 'JWT', kid });
}

/** @param secret in base64url */
export function jwtSecret(secret: string): KeyObject {
	return createSecretKey(Buffer.from(secret, 'base64url'));
}

/** @param header from `jwtHeader` */
export function signJwt(header: string, payload: object, secret: KeyObject): string {
	const signed = `${header}.${encode(payload)}`;
	return `${signed}.${signatureOf(signed, secret)}`;
}

/**
 * Whether a text is shaped like a token. The last character of a signature carries 2 unused bits. They must be 0, or four
 * tokens would have the same signature.
 */
export function isJwt(text: string): boolean {
	return tokenShape.test(text);
}

/** Splits a possible token; missing parts are empty. */
export function jwtParts(token: string): { header: string; payload: string } {
	const [header = '', payload = ''] = token.split('.', 3);
	return { header, payload };
}

/** Whether the token was signed with this secret. Takes constant time. */
export function hasValidSignature(token: string, secret: KeyObject): boolean {
	const signatureAt = token.lastIndexOf('.');
	const signature = Buffer.from(token.slice(signatureAt + 1));
	const expected = Buffer.from(signatureOf(token.slice(0, signatureAt), secret));
	return signature.length === expected.length && timingSafeEqual(expected, signature);
}

/** Decodes a header or payload; undefined where it is not a JSON object. */
export function decodeJwtPart(part: string): Readonly<Record<string, unknown>> | undefined {
	try {
		const fields = JSON.parse(Buffer.from(part, 'base64url').toString());
		return typeof fields === 'object' && fields !== null && !Array.isArray(fields) ? fields : undefined;
	} catch {
		return undefined;
	}
}

function encode(part: object): string {
	return Buffer.from(JSON.stringify(part)).toString('base64url');
}

function signatureOf(signed: string, secret: KeyObject): string {
	return createHmac('sha256', secret).update(signed).digest('base64url');
}
