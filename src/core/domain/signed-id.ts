import { createHmac, timingSafeEqual } from 'node:crypto';

/**
 * What an account believes of the `cid`s and `tid`s that hits show:
 * - `claimed`: whoever shows one is joined by it, but reads of its pages see nothing that was uploaded before, unless it comes with a
 *   signature, which the client's back end makes;
 * - `signed`: only whoever shows it with a signature has it;
 * - `trusted`: whoever shows one has it.
 */
export const idTrusts = ['claimed', 'signed', 'trusted'] as const;
export type IdTrust = (typeof idTrusts)[number];

/** What an id is of. A signature of the one is none of the other. */
export type IdKind = 'cid' | 'tid';

/** Between an id and its signature; it needs no escape in a URL. */
const separator = '~';
/** Of HMAC-SHA-256, in hexadecimal digits. */
const signatureLength = 64;

/** The secrets that an account's back end may sign with. */
export interface IdentitySecrets {
	readonly secret: string;
	/** The one before, as long as it counts. */
	readonly previous: { readonly secret: string; readonly untilMs: number } | null;
}

/** The id as a page shows it: `customer-42~` and its signature, 64 hexadecimal digits. */
export function signId(secret: string, kind: IdKind, id: string): string {
	return `${id}${separator}${signatureOf(secret, kind, id)}`;
}

function signatureOf(secret: string, kind: IdKind, id: string): string {
	return createHmac('sha256', secret).update(`${kind}:${id}`).digest('hex');
}

/** An id that a hit shows. */
export interface ShownId {
	/** Without its signature. */
	readonly id: string;
	/** Whether it has none, the right one or a wrong one. */
	readonly signature: 'none' | 'right' | 'wrong';
}

/** Takes an id and its signature apart. */
export function readShownId(
	shown: string,
	kind: IdKind,
	secrets: IdentitySecrets | null,
	nowMs: number,
): ShownId {
	const end = shown.length - signatureLength - 1;
	if (end < 1 || shown[end] !== separator || !/^[\da-f]+$/i.test(shown.slice(end + 1)))
		return { id: shown, signature: 'none' };
	const id = shown.slice(0, end);
	const presented = Buffer.from(shown.slice(end + 1), 'hex');
	const usable = secrets
		? [
				secrets.secret,
				...(secrets.previous && nowMs < secrets.previous.untilMs ? [secrets.previous.secret] : []),
			]
		: [];
	const isRight = usable.some((secret) =>
		timingSafeEqual(Buffer.from(signatureOf(secret, kind, id), 'hex'), presented),
	);
	return { id, signature: isRight ? 'right' : 'wrong' };
}
