import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto';

/**
 * JSON Web Tokens in the compact form of RFC 7519 and RFC 7515, signed with HMAC SHA-256 and nothing else.
 * A token is `header.payload.signature`, each part in base64url.
 */

const tokenShape = /^[\w-]+\.[\w-]+\.[\w-]{42}[AEIMQUYcgkosw048]$/;

/** The first part of every token that a key signs. @param kid names the key */
export function jwtHeader(kid: string): string {
	return encode({ alg: 'HS256', typ: 'JWT', kid });
}

/** @param secret in base64url */
export function jwtSecret(secret: string): KeyObject {
	return createSecretKey(Buffer.from(secret, 'base64url'));
}

/** @param header as `jwtHeader` makes it */
export function signJwt(header: string, payload: object, secret: KeyObject): string {
	const signed = `${header}.${encode(payload)}`;
	return `${signed}.${signatureOf(signed, secret)}`;
}

/**
 * Whether a text has the shape of a token. The last character of a signature has 2 bits to spare; they must be 0, or
 * there would be four tokens of the same signature.
 */
export function isJwt(text: string): boolean {
	return tokenShape.test(text);
}

/** The parts of what may be a token; what is missing is empty. */
export function jwtParts(token: string): { header: string; payload: string } {
	const [header = '', payload = ''] = token.split('.', 3);
	return { header, payload };
}

/** Whether the secret has signed this token. Takes as long for a wrong signature as for a right one. */
export function hasValidSignature(token: string, secret: KeyObject): boolean {
	const signatureAt = token.lastIndexOf('.');
	const signature = Buffer.from(token.slice(signatureAt + 1));
	const expected = Buffer.from(signatureOf(token.slice(0, signatureAt), secret));
	return signature.length === expected.length && timingSafeEqual(expected, signature);
}

/** What a header or payload says; undefined where it is no JSON object. */
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
