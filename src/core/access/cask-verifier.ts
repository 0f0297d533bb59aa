import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { isSubject } from '../domain/cask-scope.ts';
import { caskLifetimeMs, type SigningKey } from '../domain/signing-key.ts';
import { isoTime } from '../format/iso-time.ts';
import { type CaskClaims, type CaskPayload, type ReadySigningKey, readySigningKey } from './cask.ts';
import { decodeJwtPart, hasValidSignature, isJwt, jwtParts } from './jwt.ts';

/** Why a cask is invalid, in words that reveal nothing about it. */
export const caskProblems = {
	missing: 'the cask is missing',
	repeated: 'more than one cask was sent',
	malformed: 'the cask is malformed',
	unknown_key: 'the cask is signed with an unknown key',
	forged: "the cask's signature is not valid",
	claims: "the cask's claims are not valid",
	early: 'the cask is not valid yet',
	expired: 'the cask has expired',
} as const;

export type CaskProblem = keyof typeof caskProblems;

export class CaskError extends Error {
	override readonly name = 'CaskError';
	readonly problem: CaskProblem;

	constructor(problem: CaskProblem) {
		super(caskProblems[problem]);
		this.problem = problem;
	}
}

/** Shared instances: they contain no data of any cask. */
const errors = Object.fromEntries(
	Object.keys(caskProblems).map((problem) => [problem, new CaskError(problem as CaskProblem)]),
) as Record<CaskProblem, CaskError>;

/** Maximum clock skew between servers that share signing keys. */
const clockToleranceMs = 60_000;
/** Casks that the service issues have fewer than 400 characters. */
const maxCharacters = 2048;
/** Maximum number of verified casks in the cache; about 3 MB. */
const maxRemembered = 10_000;

interface VerifyingKey extends ReadySigningKey {
	readonly key: SigningKey;
}

interface VerifiedCask {
	readonly claims: CaskClaims;
	readonly key: SigningKey;
}

/** Verifies casks and caches the valid ones. For a cached cask, only the expiry is checked again. */
export class CaskVerifier {
	#keys: readonly SigningKey[] = [];
	/** Keys by JWT header. A cask with any other header was not written by this service and is rejected unread. */
	#byHeader = new Map<string, VerifyingKey>();
	/** Keyed by SHA-256, so that no cask stays in memory. */
	readonly #verified = new LRUCache<string, VerifiedCask>({ max: maxRemembered });

	/**
	 * @param keys the keys that casks may be signed with; they may change between calls
	 * @returns the claims or an error; invalid casks are common, and throwing costs more than verifying
	 */
	verify(cask: string, keys: readonly SigningKey[], nowMs: number): CaskClaims | CaskError {
		if (cask.length > maxCharacters) return errors.malformed;
		this.#use(keys);
		const sha256 = hash('sha256', cask, 'base64url');
		let verified: VerifiedCask | CaskError | undefined = this.#verified.get(sha256);
		if (!verified) {
			verified = this.#verifySignature(cask);
			if (verified instanceof CaskError) return verified;
			this.#verified.set(sha256, verified);
		}
		const { claims, key } = verified;
		if (key.retiresAtMs !== null && key.retiresAtMs <= nowMs) return errors.unknown_key;
		if (claims.issuedAtMs > nowMs + clockToleranceMs) return errors.early;
		if (claims.expiresAtMs <= nowMs) return errors.expired;
		return claims;
	}

	#use(keys: readonly SigningKey[]): void {
		if (keys === this.#keys) return;
		// Most changes to the control database do not change the keys.
		if (JSON.stringify(keys) !== JSON.stringify(this.#keys)) {
			this.#verified.clear();
			this.#byHeader = new Map(
				keys.map((key) => {
					const ready = readySigningKey(key);
					return [ready.header, { ...ready, key }];
				}),
			);
		}
		this.#keys = keys;
	}

	#verifySignature(cask: string): VerifiedCask | CaskError {
		if (!isJwt(cask)) return errors.malformed;
		const { header } = jwtParts(cask);
		const verifying = this.#byHeader.get(header);
		if (!verifying) return this.#problemOf(header);
		if (!hasValidSignature(cask, verifying.secret)) return errors.forged;
		const claims = claimsOf(claimedBy(cask));
		return claims instanceof CaskError ? claims : { claims, key: verifying.key };
	}

	/** The problem of a cask whose header this service does not write. */
	#problemOf(header: string): CaskError {
		const fields = decodeJwtPart(header);
		if (!fields) return errors.malformed;
		const isKnown = this.#keys.some(({ kid }) => kid === fields.kid);
		return isKnown ? errors.forged : errors.unknown_key;
	}

	/**
	 * The unverified `aid` claim of a cask, valid or not. It must not grant access.
	 * @returns the claim, of whatever type it is
	 */
	claimedAid(cask: string): unknown {
		return cask.length > maxCharacters ? undefined : claimedBy(cask)?.aid;
	}
}

/** The unverified payload of a cask. */
function claimedBy(cask: string): Partial<CaskPayload> | undefined {
	return decodeJwtPart(jwtParts(cask).payload);
}

/** A cask expires 24 hours after `iat` at the latest, whatever `exp` says. */
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
	return { aid, scope, subject: sub, issuedAtMs, expiresAtMs, expiresAt: isoTime(expiresAtMs) };
}
