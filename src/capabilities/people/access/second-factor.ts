import { createHmac, randomBytes } from 'node:crypto';
import { hashToken } from './tokens.ts';

/** RFC 6238, with what every authenticator app takes: HMAC-SHA-1, 30 seconds, six digits. */
const stepSeconds = 30;
const codeDigits = 6;
/** RFC 4226 asks for 160 bits. */
const secretBytes = 20;
/** Steps before and after the current one, for clocks that differ and people who type slowly (RFC 6238, 5.2). */
const tolerance = 1;

/** A new secret, in base32. */
export function newTotpSecret(): string {
	return toBase32(randomBytes(secretBytes));
}

/** The step of RFC 6238 at a time: how many half minutes have passed since 1970. */
export function stepAt(nowMs: number): number {
	return Math.floor(nowMs / 1000 / stepSeconds);
}

/** The code of a step (RFC 4226, 5.3). */
export function totpCode(secret: Buffer, step: number, digits = codeDigits): string {
	const counter = Buffer.alloc(8);
	counter.writeBigUInt64BE(BigInt(step));
	const digest = createHmac('sha1', secret).update(counter).digest();
	const offset = (digest.at(-1) as number) & 0xf;
	const number = digest.readUInt32BE(offset) & 0x7fff_ffff;
	return String(number % 10 ** digits).padStart(digits, '0');
}

/** The step whose code this is, if it is current; undefined otherwise. Whether it was used before is the store's to tell. */
export function stepOf(secret: string, code: string, nowMs: number): number | undefined {
	const bytes = fromBase32(secret);
	const current = stepAt(nowMs);
	for (let step = current - tolerance; step <= current + tolerance; step++)
		if (totpCode(bytes, step) === code) return step;
	return undefined;
}

/** For authenticator apps, as a link or in a picture. The format is that of Google Authenticator, which all apps read. */
export function otpauthLink(email: string, secret: string): string {
	const label = `${encodeURIComponent('Caskade')}:${encodeURIComponent(email)}`;
	return `otpauth://totp/${label}?secret=${secret}&issuer=Caskade`;
}

/** Ten codes of 80 random bits, as they are shown once. */
export function newRecoveryCodes(): string[] {
	return Array.from({ length: 10 }, () =>
		(toBase32(randomBytes(10)).toLowerCase().match(/.{4}/g) as string[]).join('-'),
	);
}

/** As it is stored. However it was typed, with or without hyphens. */
export function hashRecoveryCode(code: string): string {
	return hashToken(code.toLowerCase().replaceAll(/[^a-z2-7]/g, ''));
}

/** RFC 4648, 6. */
const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

function toBase32(bytes: Buffer): string {
	const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('');
	return (bits.match(/.{5}/g) as string[]).map((five) => alphabet[Number.parseInt(five, 2)]).join('');
}

function fromBase32(text: string): Buffer {
	const bits = [...text].map((letter) => alphabet.indexOf(letter).toString(2).padStart(5, '0')).join('');
	return Buffer.from((bits.match(/.{8}/g) ?? []).map((eight) => Number.parseInt(eight, 2)));
}
