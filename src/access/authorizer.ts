import { ApiError } from '../errors.ts';
import type { KnownAccount } from '../store/control.ts';
import type { CaskScope } from './cask.ts';
import { CaskError, CaskVerifier, caskTroubles } from './cask-verifier.ts';
import type { AccessDirectory } from './directory.ts';

/** What a request may read. */
export interface Authorization {
	readonly aid: string;
	readonly accountId: number;
	readonly account: KnownAccount;
	readonly scope: CaskScope;
	/** A `vid` or a `sid`, as the scope says. */
	readonly subject: string;
	readonly expiresAtMs: number;
}

/** The parameters of a request that the authorizer looks at, as they were parsed; there may be others. */
export type Query = { readonly [Name in 'cask' | 'aid' | 'vid' | 'sid']?: string | string[] | undefined };

/** Decides by its cask what a request may read. Knows nothing of what is read. */
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
	 * @throws ApiError `unauthorized` where there is no valid cask; `forbidden` where it is valid, but not for what the
	 * query names, or void
	 */
	authorize(query: Query): Authorization {
		const { aid, scope, subject, issuedAtMs, expiresAtMs } = this.#claims(query.cask);
		const account = this.#directory.account(aid);
		if (!account) throw new ApiError('forbidden');
		const vid = scope === 'vid' ? subject : undefined;
		const sid = scope === 'sid' ? subject : undefined;
		if (differs(query.aid, aid) || differs(query.vid, vid) || differs(query.sid, sid))
			throw new ApiError('forbidden');
		const revokedAtMs = account.revocations.get(subject);
		if (revokedAtMs !== undefined && issuedAtMs <= revokedAtMs) throw new ApiError('forbidden');
		return { aid, accountId: account.id, account, scope, subject, expiresAtMs };
	}

	/** The account that a request is about by its own word, which proves nothing: for who may read a denial. */
	claimedAccount({ cask, aid }: Query): KnownAccount | undefined {
		const claimed = typeof cask === 'string' ? this.#verifier.claimedAid(cask) : undefined;
		return this.#account(claimed) ?? this.#account(aid);
	}

	#account(aid: unknown): KnownAccount | undefined {
		return typeof aid === 'string' ? this.#directory.account(aid) : undefined;
	}

	#claims(cask: string | string[] | undefined) {
		if (cask === undefined || cask === '') throw unauthorized(caskTroubles.missing);
		if (typeof cask !== 'string') throw unauthorized(caskTroubles.repeated);
		try {
			return this.#verifier.verify(cask, this.#directory.signingKeys, this.#now());
		} catch (error) {
			if (error instanceof CaskError) throw unauthorized(error.message);
			throw error;
		}
	}
}

/** A parameter that is left out differs from nothing; one that is given twice from everything. */
function differs(given: string | string[] | undefined, owned: string | undefined): boolean {
	return given !== undefined && given !== owned;
}

/** The form is RFC 6750's, section 3. */
function unauthorized(reason: string): ApiError {
	return new ApiError('unauthorized', {
		headers: { 'www-authenticate': `Bearer error="invalid_token", error_description="${reason}"` },
	});
}
