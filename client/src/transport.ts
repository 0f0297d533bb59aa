import { CaskadeError, ConnectionError, errorOf, RateLimitError, UnexpectedAnswerError } from './errors.ts';
import { Pacer } from './pacer.ts';
import { sleep } from './sleep.ts';

export interface CaskadeOptions {
	/** URL of the server with base path and stage, for example `https://api.example.com`. */
	readonly url: string;
	readonly apiKey: string;
	/** Maximum number of retries of a request. Default: 5. */
	readonly maxRetries?: number;
	/** Time limit of each attempt. Default: 10 s. */
	readonly timeoutMs?: number;
	/** Replaces the global `fetch`. */
	readonly fetch?: typeof fetch;
}

export interface CallOptions {
	/** Aborts the call. The server may still process the request. */
	readonly signal?: AbortSignal;
}

interface Call extends CallOptions {
	readonly method: 'GET' | 'POST';
	readonly path: string;
	readonly body?: string;
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
const maxPauseMs = 20_000;
/** If the server asks for a longer wait, the error is thrown, so that the caller can decide. */
const maxRetryAfterMs = 60_000;

/** Sends requests with pacing, a time limit per attempt, and retries. */
export class Transport {
	readonly #url: string;
	readonly #apiKey: string;
	readonly #maxRetries: number;
	readonly #timeoutMs: number;
	readonly #fetch: typeof fetch;
	readonly #pacer = new Pacer();

	constructor({ url, apiKey, maxRetries = 5, timeoutMs = 10_000, fetch: send }: CaskadeOptions) {
		const { href, protocol } = new URL(url);
		if (protocol !== 'https:' && protocol !== 'http:')
			throw new TypeError('url must begin with https:// or http://');
		if (typeof apiKey !== 'string' || apiKey === '') throw new TypeError('apiKey must be a non-empty string');
		this.#url = href.replace(/\/+$/, '');
		this.#apiKey = apiKey;
		this.#maxRetries = maxRetries;
		this.#timeoutMs = timeoutMs;
		// On some platforms, the global `fetch` must not be called as a method of another object.
		this.#fetch = send ?? ((input, init) => fetch(input, init));
	}

	/** @throws CaskadeError, or the signal's reason if it was aborted */
	async send(call: Call): Promise<Answer> {
		for (let attempts = 1; ; attempts++) {
			const sentAtMs = call.isPaced ? await this.#pacer.turn(call.signal) : 0;
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
			const waitMs = error.retryAfterMs ?? 0;
			if (!error.isRetryable || attempts > this.#maxRetries || waitMs > maxRetryAfterMs) throw error;
			const pauseMs = Math.min(maxPauseMs, firstPauseMs * 2 ** (attempts - 1));
			await sleep(waitMs + Math.random() * pauseMs, call.signal);
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
			const what = limit.signal.aborted ? `no answer within ${this.#timeoutMs} ms` : reasonOf(cause);
			return { error: new ConnectionError(what, { cause }), headers };
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

/** The reason of a failed `fetch`, which is in the cause of its error. */
function reasonOf(error: unknown): string {
	const { cause, message } = error as { cause?: { message?: string }; message?: string };
	return cause?.message || message || String(error);
}
