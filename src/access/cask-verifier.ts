import { createHmac, createSecretKey, hash, type KeyObject, timingSafeEqual } from 'node:crypto';
import { type CaskClaims, type CaskPayload, headerOf, isSubject, secretOf } from './cask.ts';
import { caskLifetimeMs, type SigningKey } from './signing-key.ts';

/** Why a cask opens nothing, in words that tell nothing of it. */
export const caskTroubles = {
	missing: 'the cask is missing',
	repeated: 'the cask is there more than once',
	malformed: 'the cask is malformed',
	unknown_key: 'the cask is signed with an unknown key',
	forged: "the cask's signature is not valid",
	claims: "the cask's claims are not valid",
	early: 'the cask is not valid yet',
	expired: 'the cask has expired',
} as const;

export type CaskTrouble = keyof typeof caskTroubles;

export class CaskError extends Error {
	override readonly name = 'CaskError';
	readonly trouble: CaskTrouble;

	constructor(trouble: CaskTrouble) {
		super(caskTroubles[trouble]);
		this.trouble = trouble;
	}
}

/** One of each for all: it holds nothing of a cask. */
const errors = Object.fromEntries(
	Object.keys(caskTroubles).map((trouble) => [trouble, new CaskError(trouble as CaskTrouble)]),
) as Record<CaskTrouble, CaskError>;

/** Clocks of servers that share signing keys may differ by so much. */
const clockToleranceMs = 60_000;
/** One that was issued is under 400 long. */
const mostCharacters = 2048;
/** Twice as many are remembered at most; about 3 MB. */
const mostRecent = 5000;

/**
 * Three parts in base64url, the last of 256 bits: its last character has 2 bits to spare, and they must be 0, or there
 * would be four casks of the same signature.
 */
const shape = /^[\w-]+\.[\w-]+\.[\w-]{42}[AEIMQUYcgkosw048]$/;

interface VerifyingKey {
	readonly key: SigningKey;
	readonly secret: KeyObject;
}

interface Verified {
	readonly claims: CaskClaims;
	readonly key: SigningKey;
}

/** Verifies casks, and remembers those that were good: of what is remembered only the time is looked at again. */
export class CaskVerifier {
	#keys: readonly SigningKey[] = [];
	/** By the first part of their casks: only what is written as the service writes it is looked at any further. */
	#byHeader = new Map<string, VerifyingKey>();
	/** By SHA-256, which keeps no request's URL in memory. When it is full, it becomes the older one. */
	#recent = new Map<string, Verified>();
	#older = new Map<string, Verified>();

	/**
	 * @param keys those that may verify; they may differ from call to call
	 * @returns why it opens nothing, where it does not: that is nothing rare, and throwing costs more than verifying
	 */
	verify(cask: string, keys: readonly SigningKey[], nowMs: number): CaskClaims | CaskError {
		if (cask.length > mostCharacters) return errors.malformed;
		this.#use(keys);
		const sha256 = hash('sha256', cask, 'base64url');
		let verified: Verified | CaskError | undefined = this.#recent.get(sha256) ?? this.#older.get(sha256);
		if (!verified) {
			verified = this.#verifySignature(cask);
			if (verified instanceof CaskError) return verified;
			this.#remember(sha256, verified);
		}
		const { claims, key } = verified;
		if (key.retiresAtMs !== null && key.retiresAtMs <= nowMs) return errors.unknown_key;
		if (claims.issuedAtMs > nowMs + clockToleranceMs) return errors.early;
		if (claims.expiresAtMs <= nowMs) return errors.expired;
		return claims;
	}

	#use(keys: readonly SigningKey[]): void {
		if (keys === this.#keys) return;
		// Most changes of the control database are not of the keys.
		if (JSON.stringify(keys) !== JSON.stringify(this.#keys)) {
			this.#recent.clear();
			this.#older.clear();
			this.#byHeader = new Map(
				keys.map((key) => [headerOf(key), { key, secret: createSecretKey(secretOf(key)) }]),
			);
		}
		this.#keys = keys;
	}

	#verifySignature(cask: string): Verified | CaskError {
		if (!shape.test(cask)) return errors.malformed;
		const header = cask.slice(0, cask.indexOf('.'));
		const verifying = this.#byHeader.get(header);
		if (!verifying) return this.#troubleOf(header);
		const { key, secret } = verifying;
		const signatureAt = cask.lastIndexOf('.');
		const signature = createHmac('sha256', secret).update(cask.slice(0, signatureAt)).digest('base64url');
		if (!timingSafeEqual(Buffer.from(signature), Buffer.from(cask.slice(signatureAt + 1))))
			return errors.forged;
		const claims = claimsOf(claimedBy(cask));
		return claims instanceof CaskError ? claims : { claims, key };
	}

	/** Of a header that the service does not write. */
	#troubleOf(header: string): CaskError {
		const fields = readPart(header);
		if (!fields) return errors.malformed;
		const isKnown = this.#keys.some(({ kid }) => kid === fields.kid);
		return isKnown ? errors.forged : errors.unknown_key;
	}

	/**
	 * The account that a cask claims to be for, whether or not it is valid: nothing may be opened by it.
	 * @returns whatever is there in its place
	 */
	claimedAid(cask: string): unknown {
		return cask.length > mostCharacters ? undefined : claimedBy(cask)?.aid;
	}

	#remember(sha256: string, verified: Verified): void {
		if (this.#recent.size >= mostRecent) {
			this.#older = this.#recent;
			this.#recent = new Map();
		}
		this.#recent.set(sha256, verified);
	}
}

/** What the second part says. */
function claimedBy(cask: string): Partial<CaskPayload> | undefined {
	const from = cask.indexOf('.') + 1;
	return readPart(cask.slice(from, cask.indexOf('.', from)));
}

/** @returns undefined where it is no object */
function readPart(part: string): Readonly<Record<string, unknown>> | undefined {
	try {
		const fields = JSON.parse(Buffer.from(part, 'base64url').toString());
		return typeof fields === 'object' && fields !== null && !Array.isArray(fields) ? fields : undefined;
	} catch {
		return undefined;
	}
}

/** Whatever `exp` says, 24 hours after `iat` it is over. */
function claimsOf(payload: Partial<CaskPayload> | undefined): CaskClaims | CaskError {
	if (!payload) return errors.malformed;
	const { aid, sub, scope, iat, exp } = payload;
	if (
		typeof aid !== 'string' ||
		!isSubject(sub) ||
		(scope !== 'vid' && scope !== 'sid') ||
		!Number.isSafeInteger(iat) ||
		!Number.isSafeInteger(exp)
	)
		return errors.claims;
	const issuedAtMs = Number(iat) * 1000;
	const expiresAtMs = Math.min(Number(exp) * 1000, issuedAtMs + caskLifetimeMs);
	return { aid, scope, subject: sub, issuedAtMs, expiresAtMs };
}
