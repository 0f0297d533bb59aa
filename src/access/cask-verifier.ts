import { hash } from 'node:crypto';
import { createDecoder, createVerifier } from 'fast-jwt';
import { type CaskClaims, type CaskPayload, isSubject, secretOf } from './cask.ts';
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

/** A denial is no defect, and a stack trace costs more than the rest of it; the library's errors have one too. */
function withoutStackTraces<Value>(work: () => Value): Value {
	const { stackTraceLimit } = Error;
	Error.stackTraceLimit = 0;
	try {
		return work();
	} finally {
		Error.stackTraceLimit = stackTraceLimit;
	}
}

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
interface KeyVerifier {
	readonly key: SigningKey;
	verify(token: string): unknown;
}

interface Verified {
	readonly claims: CaskClaims;
	readonly key: SigningKey;
}

/** Verifies casks, and remembers those that were good: of what is remembered only the time is looked at again. */
export class CaskVerifier {
	readonly #decode = createDecoder({ complete: true });
	#keys: readonly SigningKey[] = [];
	/** By `kid`. */
	#verifiers = new Map<string, KeyVerifier>();
	/** By the first part of casks that were good, which is the same for all of a key: it need not be read each time. */
	readonly #ofHeader = new Map<string, KeyVerifier>();
	/** By SHA-256, which keeps no request's URL in memory. When it is full, it becomes the older one. */
	#recent = new Map<string, Verified>();
	#older = new Map<string, Verified>();

	/**
	 * @param keys those that may verify; they may differ from call to call
	 * @throws CaskError
	 */
	verify(cask: string, keys: readonly SigningKey[], nowMs: number): CaskClaims {
		return withoutStackTraces(() => this.#verify(cask, keys, nowMs));
	}

	#verify(cask: string, keys: readonly SigningKey[], nowMs: number): CaskClaims {
		if (cask.length > mostCharacters) throw new CaskError('malformed');
		this.#use(keys);
		const sha256 = hash('sha256', cask, 'base64url');
		let verified = this.#recent.get(sha256) ?? this.#older.get(sha256);
		if (!verified) {
			verified = this.#verifySignature(cask);
			this.#remember(sha256, verified);
		}
		const { claims, key } = verified;
		if (key.retiresAtMs !== null && key.retiresAtMs <= nowMs) throw new CaskError('unknown_key');
		if (claims.issuedAtMs > nowMs + clockToleranceMs) throw new CaskError('early');
		if (claims.expiresAtMs <= nowMs) throw new CaskError('expired');
		return claims;
	}

	#use(keys: readonly SigningKey[]): void {
		if (keys === this.#keys) return;
		// Most changes of the control database are not of the keys.
		if (JSON.stringify(keys) !== JSON.stringify(this.#keys)) {
			this.#recent.clear();
			this.#older.clear();
			this.#ofHeader.clear();
			this.#verifiers = new Map(
				keys.map((key) => [
					key.kid,
					{
						key,
						// Times are judged here, by the service's clock.
						verify: createVerifier({
							key: secretOf(key),
							algorithms: ['HS256'],
							ignoreExpiration: true,
							ignoreNotBefore: true,
						}),
					},
				]),
			);
		}
		this.#keys = keys;
	}

	#verifySignature(cask: string): Verified {
		if (!shape.test(cask)) throw new CaskError('malformed');
		const header = cask.slice(0, cask.indexOf('.'));
		const verifier = this.#ofHeader.get(header) ?? this.#verifiers.get(this.#kidOf(cask));
		if (!verifier) throw new CaskError('unknown_key');
		let payload: Partial<CaskPayload>;
		try {
			payload = verifier.verify(cask) as Partial<CaskPayload>;
		} catch {
			throw new CaskError('forged');
		}
		this.#ofHeader.set(header, verifier);
		return { claims: claimsOf(payload), key: verifier.key };
	}

	/**
	 * The account that a cask claims to be for, whether or not it is valid: nothing may be opened by it.
	 * @returns whatever is there in its place
	 */
	claimedAid(cask: string): unknown {
		if (cask.length > mostCharacters) return undefined;
		try {
			return this.#decode(cask).payload?.aid;
		} catch {
			return undefined;
		}
	}

	#kidOf(cask: string): string {
		try {
			return this.#decode(cask).header.kid;
		} catch {
			throw new CaskError('malformed');
		}
	}

	#remember(sha256: string, verified: Verified): void {
		if (this.#recent.size >= mostRecent) {
			this.#older = this.#recent;
			this.#recent = new Map();
		}
		this.#recent.set(sha256, verified);
	}
}

/** Whatever `exp` says, 24 hours after `iat` it is over. */
function claimsOf({ aid, sub, scope, iat, exp }: Partial<CaskPayload>): CaskClaims {
	if (
		typeof aid !== 'string' ||
		!isSubject(sub) ||
		(scope !== 'vid' && scope !== 'sid') ||
		!Number.isSafeInteger(iat) ||
		!Number.isSafeInteger(exp)
	)
		throw new CaskError('claims');
	const issuedAtMs = Number(iat) * 1000;
	const expiresAtMs = Math.min(Number(exp) * 1000, issuedAtMs + caskLifetimeMs);
	return { aid, scope, subject: sub, issuedAtMs, expiresAtMs };
}
