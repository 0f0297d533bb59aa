import type { IncomingHttpHeaders } from 'node:http';
import type { KeyScope } from '../domain/api-key.ts';
import type { RateLimit } from '../domain/token-bucket.ts';
import { monthAt, type UsagePlan } from '../domain/usage-plan.ts';
import { ApiError } from '../errors.ts';
import type { KnownKey } from '../store/control/control-store.ts';
import type { AccessDirectory } from './directory.ts';
import { quotaPolicy, quotaRemaining, ratePolicy, rateRemaining, retryAfter } from './limit-headers.ts';
import type { Quota } from './quota.ts';
import type { LocalRateLimiter, RateDecision, RateLimiter } from './rate-limit.ts';
import type { RequestCounter } from './request-counter.ts';

/** Why a request was refused before its body was read. */
export type Refusal = 'browser' | 'key' | 'rate' | 'quota';

/** Headers of the IETF draft "RateLimit header fields for HTTP", with `retry-after` where a limit was exceeded. */
export type LimitHeaders = Record<string, string>;

/**
 * Browsers send `origin` with every POST and `sec-fetch-site` with every request. `sec-fetch-mode` alone proves nothing:
 * Node's fetch sends it.
 */
function isFromBrowser(headers: IncomingHttpHeaders): boolean {
	return headers.origin !== undefined || headers['sec-fetch-site'] !== undefined;
}

/** A rate limit of one operation, per key and server. */
export interface OwnLimit extends RateLimit {
	/** The operation's name. */
	readonly name: string;
}

/** One shared instance: it must not distinguish one refusal or request from another. */
const forbidden = new ApiError('forbidden');

/** Decides from the headers alone whether key, rate and quota admit a request. */
export class Admission {
	readonly #directory: AccessDirectory;
	readonly #rate: RateLimiter;
	readonly #own: LocalRateLimiter;
	readonly #quota: Quota;
	readonly #now: () => number;
	readonly #counter: RequestCounter;
	readonly #onRefusal: (refusal: Refusal) => void;
	readonly #policies = new WeakMap<UsagePlan, { month: string; text: string }>();

	constructor(options: {
		directory: AccessDirectory;
		rate: RateLimiter;
		/** For operations that use up neither rate nor quota. */
		own: LocalRateLimiter;
		quota: Quota;
		/** Milliseconds since 1970; determines the month of the quota. */
		now: () => number;
		counter: RequestCounter;
		onRefusal: (refusal: Refusal) => void;
	}) {
		this.#directory = options.directory;
		this.#quota = options.quota;
		this.#now = options.now;
		this.#counter = options.counter;
		this.#rate = options.rate;
		this.#own = options.own;
		this.#onRefusal = options.onRefusal;
	}

	/** @throws ApiError `forbidden`, the same for browsers and for every key that is not valid for this scope */
	identify(headers: IncomingHttpHeaders, scope: KeyScope): KnownKey {
		if (isFromBrowser(headers)) throw this.#refuse('browser', forbidden);
		const key = this.#directory.key(headers['x-api-key']);
		const nowMs = this.#now();
		if (key?.scope !== scope || key.expiresAtMs <= nowMs) throw this.#refuse('key', forbidden);
		this.#counter.useKey(key.id, nowMs);
		return key;
	}

	/**
	 * Takes one request from the key's rate limit, then one from its quota.
	 * @returns a promise only where a database must be asked
	 * @throws ApiError `rate_limit_exceeded`, `quota_exceeded`
	 */
	take(key: KnownKey): undefined | Promise<void> {
		const decision = this.#rate.take(key);
		if (decision instanceof Promise) return decision.then((decided) => this.#rateTaken(key, decided));
		return this.#rateTaken(key, decision);
	}

	/**
	 * Takes one request from the operation's own limit; rate and quota stay as they are.
	 * @throws ApiError `rate_limit_exceeded`
	 */
	takeOwn(key: KnownKey, limit: OwnLimit): void {
		const { granted, retryAfterMs } = this.#own.take({ id: `${limit.name} ${key.id}`, plan: limit });
		if (!granted)
			throw this.#refuse('rate', new ApiError('rate_limit_exceeded', { headers: retryAfter(retryAfterMs) }));
	}

	#rateTaken(key: KnownKey, { granted, retryAfterMs }: RateDecision): undefined | Promise<void> {
		if (!granted)
			throw this.#refuse('rate', new ApiError('rate_limit_exceeded', { headers: retryAfter(retryAfterMs) }));
		const taken = this.#quota.take(key.id, key.plan);
		if (typeof taken !== 'boolean') return taken.then((decided) => this.#quotaTaken(decided));
		this.#quotaTaken(taken);
		return undefined;
	}

	#quotaTaken(granted: boolean): void {
		if (granted) return;
		const nowMs = this.#now();
		const headers = retryAfter(monthAt(nowMs).endMs - nowMs);
		throw this.#refuse('quota', new ApiError('quota_exceeded', { headers }));
	}

	#refuse(refusal: Refusal, error: ApiError): ApiError {
		this.#onRefusal(refusal);
		return error;
	}

	/** Headers with the key's limits and what is left of them. */
	limitHeaders(key: KnownKey): LimitHeaders {
		const nowMs = this.#now();
		const rate = rateRemaining(this.#rate.remaining(key));
		const quota = quotaRemaining(this.#quota.remaining(key.id, key.plan), monthAt(nowMs).endMs - nowMs);
		return { 'ratelimit-policy': this.#policy(key.plan, nowMs), ratelimit: `${rate}, ${quota}` };
	}

	/** Cached, because it is the same for every answer of a month. */
	#policy(plan: UsagePlan, nowMs: number): string {
		const month = monthAt(nowMs);
		const written = this.#policies.get(plan);
		if (written?.month === month.name) return written.text;
		const text = `${ratePolicy(plan)}, ${quotaPolicy(plan, month.endMs - month.startMs)}`;
		this.#policies.set(plan, { month: month.name, text });
		return text;
	}
}
