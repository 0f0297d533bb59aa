import { CaskadeError, ConnectionError, errorOf, RateLimitError, UnexpectedAnswerError } from './errors.ts';
import { Pacer } from './pacer.ts';
import { sleep } from './sleep.ts';

export interface CaskadeOptions {
	/** Of the server, with base path and stage, as `https://api.example.com`. */
	readonly url: string;
	readonly apiKey: string;
	/** How often a request is tried again; 5 unless told otherwise. */
	readonly maxRetries?: number;
	/** How long each attempt may take; 10 s unless told otherwise. */
	readonly timeoutMs?: number;
	/** In place of the global `fetch`. */
	readonly fetch?: typeof fetch;
}

export interface CallOptions {
	/** Ends the call. What was sent may have arrived. */
	readonly signal?: AbortSignal;
}

interface Call extends CallOptions {
	readonly method: 'GET' | 'POST';
	readonly path: string;
	readonly body?: string;
	/** Whether it takes from the rate of the key. */
	readonly isPaced: boolean;
}

/** A success. */
export interface Answer {
	readonly status: number;
	readonly headers: Headers;
	readonly body: unknown;
	readonly requestId: string;
	/** How often it was tried. */
	readonly attempts: number;
}

interface Attempt {
	readonly answer?: Omit<Answer, 'attempts'>;
	readonly error?: unknown;
	readonly headers: Headers | undefined;
}

/** Of full jitter: the longest first pause, and the longest of all. */
const firstPauseMs = 250;
const longestPauseMs = 20_000;
/** Who must wait longer is told so, and decides. */
const longestRetryAfterMs = 60_000;

/** Sends requests: paced, each attempt with a time limit, and again where that may help. */
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
		if (typeof apiKey !== 'string' || apiKey === '') throw new TypeError('apiKey must be a text');
		this.#url = href.replace(/\/+$/, '');
		this.#apiKey = apiKey;
		this.#maxRetries = maxRetries;
		this.#timeoutMs = timeoutMs;
		// Some platforms refuse one that is called as a method of something else.
		this.#fetch = send ?? ((input, init) => fetch(input, init));
	}

	/** @throws CaskadeError; the signal's reason where it was aborted */
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
			if (!error.isRetryable || attempts > this.#maxRetries || waitMs > longestRetryAfterMs) throw error;
			const pauseMs = Math.min(longestPauseMs, firstPauseMs * 2 ** (attempts - 1));
			await sleep(waitMs + Math.random() * pauseMs, call.signal);
		}
	}

	/** Never throws, so that the pacer is told of every turn. */
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
				// The key is for this server alone.
				redirect: 'manual',
			});
			headers = response.headers;
			// An answer counts when it is whole.
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
		// Not from a Caskade.
	}
	return new UnexpectedAnswerError(`an answer that no Caskade gives, with status ${status}`, { status });
}

/** `fetch` says what happened in the cause of its error. */
function reasonOf(error: unknown): string {
	const { cause, message } = error as { cause?: { message?: string }; message?: string };
	return cause?.message || message || String(error);
}
