import { createHmac } from 'node:crypto';

/**
 * What a `vid` is derived from: the seed that a browser has made for itself, or the visitor that a browser was first and the
 * customer who has logged in there later.
 */
export type DerivationPurpose = 'seed' | 'customer';

/** A derived visitor. */
export interface DerivedVisitor {
	readonly vid: string;
	/** What an account keeps of the `vid` when the visitor is erased, see `markOf`. */
	readonly mark: string;
}

/**
 * Derives a `vid`, by HMAC-SHA-256 cut to 128 bits. The same parts give the same `vid`. Without the account's secret, nobody
 * can tell it, nor find parts that lead to somebody else's.
 */
export function derivedVid(secret: string, purpose: DerivationPurpose, ...parts: readonly string[]): string {
	return keyedId(secret, [purpose, ...parts]);
}

/** An erased visitor is recognised by its mark, from which nobody learns the `vid`. */
export function markOf(secret: string, vid: string): string {
	return keyedId(secret, ['erased', vid]);
}

/** An erased customer is recognised by its mark, from which nobody learns the `cid`. */
export function customerMarkOf(secret: string, cid: string): string {
	return keyedId(secret, ['erased customer', cid]);
}

/** Tells marks of one secret from those of another. Nobody learns anything of the secret from it. */
export function secretNameOf(secret: string): string {
	return keyedId(secret, ['name']).slice(0, 12);
}

export function derivedVisitor(
	secret: string,
	purpose: DerivationPurpose,
	...parts: readonly string[]
): DerivedVisitor {
	const vid = derivedVid(secret, purpose, ...parts);
	return { vid, mark: markOf(secret, vid) };
}

/** JSON tells where each text ends: ['ab', 'c'] and ['a', 'bc'] differ, and so do lone surrogates. */
function keyedId(secret: string, texts: readonly string[]): string {
	return createHmac('sha256', secret).update(JSON.stringify(texts)).digest('hex').slice(0, 32);
}
