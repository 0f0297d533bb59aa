import type { CaskScope } from '../domain/cask-scope.ts';
import { ApiError } from '../errors.ts';
import type { KnownAccount } from '../store/control/control-store.ts';
import type { CaskClaims } from './cask.ts';
import { CaskError, type CaskProblem, CaskVerifier, caskProblems } from './cask-verifier.ts';
import type { AccessDirectory } from './directory.ts';

/** What a request may read. */
export interface Authorization {
	readonly aid: string;
	readonly accountId: number;
	readonly account: KnownAccount;
	readonly scope: CaskScope;
	/** A `vid` or a `sid`, depending on the scope. */
	readonly subject: string;
	/** When the cask expires. */
	readonly expiresAt: string;
}

/** The query parameters that the authorizer reads, as parsed. Others may be present. */
export type ReadQuery = { readonly [Name in 'cask' | 'aid' | 'vid' | 'sid']?: string | string[] | undefined };

/** Shared instances without data of any request: creating and throwing one would cost more than the rest of a denial. */
const forbidden = new ApiError('forbidden');
/** Formatted as RFC 6750, section 3, requires. */
const unauthorized = Object.fromEntries(
	Object.entries(caskProblems).map(([problem, reason]) => [
		problem,
		new ApiError('unauthorized', {
			headers: { 'www-authenticate': `Bearer error="invalid_token", error_description="${reason}"` },
		}),
	]),
) as Record<CaskProblem, ApiError>;

/** Decides from a request's cask which data it may read. Knows nothing about that data. */
export class Authorizer {
	readonly #directory: AccessDirectory;
	readonly #now: () => number;
	readonly #verifier = new CaskVerifier();

	/** @param now milliseconds since 1970 */
	constructor(directory: AccessDirectory, now: () => number) {
		this.#directory = directory;
		this.#now = now;
	}

	/**
	 * @returns the authorization, or an error: `unauthorized` without a valid cask, `forbidden` where the cask is revoked
	 * or does not match the query
	 */
	authorize(query: ReadQuery): Authorization | ApiError {
		const claims = this.#claims(query.cask);
		if (claims instanceof ApiError) return claims;
		const { aid, scope, subject, issuedAtMs, expiresAt } = claims;
		const account = this.#directory.account(aid);
		if (!account) return forbidden;
		const vid = scope === 'vid' ? subject : undefined;
		const sid = scope === 'sid' ? subject : undefined;
		if (differs(query.aid, aid) || differs(query.vid, vid) || differs(query.sid, sid)) return forbidden;
		const revokedAtMs = account.revocations.get(subject);
		if (revokedAtMs !== undefined && issuedAtMs <= revokedAtMs) return forbidden;
		return { aid, accountId: account.id, account, scope, subject, expiresAt };
	}

	/**
	 * The origins that may read a denial: those of the account that the request claims to be about, unverified. Empty for
	 * all. To decode a cask costs a twentieth of a denial, so it is done only where an account names origins.
	 */
	originsOf({ cask, aid }: ReadQuery): readonly string[] {
		if (!this.#directory.restrictsOrigins) return [];
		const claimed = typeof cask === 'string' ? this.#verifier.claimedAid(cask) : undefined;
		return (this.#account(claimed) ?? this.#account(aid))?.origins ?? [];
	}

	#account(aid: unknown): KnownAccount | undefined {
		return typeof aid === 'string' ? this.#directory.account(aid) : undefined;
	}

	#claims(cask: string | string[] | undefined): CaskClaims | ApiError {
		if (cask === undefined || cask === '') return unauthorized.missing;
		if (typeof cask !== 'string') return unauthorized.repeated;
		const found = this.#verifier.verify(cask, this.#directory.signingKeys, this.#now());
		return found instanceof CaskError ? unauthorized[found.problem] : found;
	}
}

/** An absent parameter never differs; a repeated one always does. */
function differs(given: string | string[] | undefined, owned: string | undefined): boolean {
	return given !== undefined && given !== owned;
}
