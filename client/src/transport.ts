import { realClock } from './clock.ts';
import { CaskadeError, ConnectionError, errorOf, RateLimitError, UnexpectedAnswerError } from './errors.ts';
import { Pacer } from './pacer.ts';

/** What the client needs of `fetch`, whose type is another one on each platform. */
type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export interface CaskadeOptions {
	/** URL of the server with base path and stage, for example `https://api.example.com`. */
	readonly url: string;
	readonly apiKey: string;
	/** How long a request is tried. Default: 30 s; of `uploadAll`, two minutes for each of its requests. */
	readonly retryForMs?: number | undefined;
	/** Time limit of each attempt. Default: 10 s. */
	readonly timeoutMs?: number | undefined;
	/** Replaces the global `fetch`. */
	readonly fetch?: Fetch | undefined;
}

export interface CallOptions {
	/** Aborts the call. The server may still process the request. */
	readonly signal?: AbortSignal | undefined;
	/** Replaces that of the client. */
	readonly retryForMs?: number | undefined;
	/** Called when an attempt has failed and another one follows. */
	readonly onRetry?: ((retry: Retry) => void) | undefined;
}

export interface Retry {
	/** What went wrong. */
	readonly error: CaskadeError;
	/** Number of attempts so far. */
	readonly attempts: number;
	/** Since the first attempt. */
	readonly failingForMs: number;
	/** Until the next attempt. */
	readonly waitMs: number;
}

interface Call extends CallOptions {
	readonly method: 'GET' | 'POST';
	readonly path: string;
	readonly body?: string | undefined;
	/** Whether the call counts towards the rate of the key. */
	readonly isPaced: boolean;
}

/** A successful answer. */
export interface Answer {
	readonly status: number;
	readonly headers: Headers;
	readonly body: unknown;
	readonly requestId: string;
	/** Number of attempts. */
	readonly attempts: number;
}

interface Attempt {
	readonly answer?: Omit<Answer, 'attempts'>;
	readonly error?: unknown;
	readonly headers: Headers | undefined;
}

/** Full jitter: upper limits of the first pause and of any pause. */
const firstPauseMs = 250;
const maxPauseMs = 10_000;
const defaultRetryForMs = 30_000;

/** Sends requests with pacing, a time limit per attempt, and retries. */
export class Transport {
	readonly #url: string;
	readonly #apiKey: string;
	readonly #retryForMs: number | undefined;
	readonly #timeoutMs: number;
	readonly #fetch: Fetch;
	readonly #clock;
	readonly #pacer: Pacer;

	constructor(
		{ url, apiKey, retryForMs, timeoutMs = 10_000, fetch: send }: CaskadeOptions,
		clock = realClock,
	) {
		const { href, protocol } = new URL(url);
		if (protocol !== 'https:' && protocol !== 'http:')
			throw new TypeError('url must begin with https:// or http://');
		if (typeof apiKey !== 'string' || apiKey === '') throw new TypeError('apiKey must be a non-empty string');
		this.#url = href.replace(/\/+$/, '');
		this.#apiKey = apiKey;
		this.#retryForMs = retryForMs;
		this.#timeoutMs = timeoutMs;
		this.#clock = clock;
		this.#pacer = new Pacer(clock);
		// On some platforms, `fetch` must not be called as a method of another object.
		this.#fetch = (url, init) => (send ?? fetch)(url, init);
	}

	/**
	 * @param usualRetryForMs of calls that nobody has set a time for
	 * @throws CaskadeError, or the signal's reason if it was aborted
	 */
	async send(call: Call, usualRetryForMs = defaultRetryForMs): Promise<Answer> {
		const retryForMs = call.retryForMs ?? this.#retryForMs ?? usualRetryForMs;
		let firstSentAtMs: number | undefined;
		for (let attempts = 1; ; attempts++) {
			const sentAtMs = call.isPaced ? await this.#pacer.turn(call.signal) : this.#clock.now();
			firstSentAtMs ??= sentAtMs;
			const outcome = await this.#attempt(call);
			if (call.isPaced)
				this.#pacer.answered({
					sentAtMs,
					isRefused: outcome.error instanceof RateLimitError,
					headers: outcome.headers,
				});
			if (outcome.answer) return { ...outcome.answer, attempts };
			const { error } = outcome;
			if (!(error instanceof CaskadeError)) throw error;
			error.attempts = attempts;
			const failingForMs = this.#clock.now() - firstSentAtMs;
			const { retryAfterMs = 0 } = error;
			// If the server asks for a longer wait, the caller can decide.
			const spareMs = retryForMs - failingForMs - retryAfterMs;
			if (!error.isRetryable || spareMs <= 0) throw error;
			const pauseMs = Math.random() * Math.min(maxPauseMs, firstPauseMs * 2 ** (attempts - 1));
			const waitMs = retryAfterMs + Math.min(spareMs, pauseMs);
			call.onRetry?.({ error, attempts, failingForMs, waitMs });
			await this.#clock.sleep(waitMs, call.signal);
		}
	}

	/** Never throws, so that the pacer learns of every outcome. */
	async #attempt(call: Call): Promise<Attempt> {
		const limit = new AbortController();
		const onAbort = () => limit.abort();
		call.signal?.addEventListener('abort', onAbort, { once: true });
		const timer = setTimeout(() => limit.abort(), this.#timeoutMs);
		let headers: Headers | undefined;
		try {
			call.signal?.throwIfAborted();
			const response = await this.#fetch(`${this.#url}${call.path}`, {
				method: call.method,
				headers: {
					accept: 'application/json',
					'x-api-key': this.#apiKey,
					...(call.body !== undefined && { 'content-type': 'application/json' }),
				},
				...(call.body !== undefined && { body: call.body }),
				signal: limit.signal,
				// A redirect must not receive the key.
				redirect: 'manual',
			});
			headers = response.headers;
			// Reads the whole body: an incomplete answer counts as none.
			const text = await response.text();
			if (!response.ok) return { error: errorOf(response.status, headers, text), headers };
			const answer = readAnswer(response.status, headers, text);
			return answer instanceof CaskadeError ? { error: answer, headers } : { answer, headers };
		} catch (cause) {
			if (call.signal?.aborted) return { error: call.signal.reason, headers };
			const error = limit.signal.aborted
				? new ConnectionError(`no answer within ${this.#timeoutMs} ms`)
				: new ConnectionError(reasonOf(cause), { cause });
			return { error, headers };
		} finally {
			clearTimeout(timer);
			call.signal?.removeEventListener('abort', onAbort);
		}
	}
}

function readAnswer(
	status: number,
	headers: Headers,
	text: string,
): Omit<Answer, 'attempts'> | UnexpectedAnswerError {
	const requestId = headers.get('x-request-id');
	try {
		if (requestId !== null) return { status, headers, requestId, body: JSON.parse(text) };
	} catch {
		// Not JSON, so not an answer of Caskade.
	}
	return new UnexpectedAnswerError(`unexpected answer with status ${status}`, { status });
}

interface Failure {
	readonly code?: string;
	readonly message?: string;
}

/** The reason of a failed `fetch`, which is in the cause of its error. Where several addresses failed, it has only a code. */
function reasonOf(error: unknown): string {
	const { cause, code, message } = error as Failure & { cause?: Failure };
	return cause?.message || cause?.code || message || code || String(error);
}
