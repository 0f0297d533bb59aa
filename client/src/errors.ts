import type { UnfinishedUpload } from './upload-summary.ts';

/** A row that the server names. */
export interface RowProblem {
	/** Index of the row in the request, from 0. */
	readonly index: number;
	/** Empty if the row as a whole is invalid. */
	readonly field: string;
	/** For example `must be an integer`. */
	readonly message: string;
}

/** Details of an unsuccessful answer. */
export interface ErrorDetails {
	readonly status?: number | undefined;
	readonly requestId?: string | undefined;
	readonly retryAfterMs?: number | undefined;
	readonly rows?: readonly RowProblem[] | undefined;
	readonly cause?: unknown;
}

/** The base class of all errors of this client. Each kind of error has its own class. */
export class CaskadeError extends Error {
	override readonly name: string = 'CaskadeError';
	/** Status of the answer; undefined if there was none. */
	readonly status: number | undefined;
	/** Identifies the request in the server's logs. */
	readonly requestId: string | undefined;
	/** How long to wait before trying again, if the server says so. */
	readonly retryAfterMs: number | undefined;
	/** The invalid rows that the server names. */
	readonly rows: readonly RowProblem[];
	/** Number of attempts. */
	attempts = 1;
	/** Of `uploadAll`: what it had done. */
	summary: UnfinishedUpload | undefined;

	constructor(message: string, { status, requestId, retryAfterMs, rows = [], cause }: ErrorDetails = {}) {
		super(message, { cause });
		this.status = status;
		this.requestId = requestId;
		this.retryAfterMs = retryAfterMs;
		this.rows = rows;
	}

	/** Whether the same request may succeed later. Every retry is safe, because `tid` decides what is stored. */
	get isRetryable(): boolean {
		return false;
	}
}

class RetryableError extends CaskadeError {
	override get isRetryable(): boolean {
		return true;
	}
}

/** 400: a field is missing or invalid; `rows` lists those that the server names. */
export class InvalidRequestError extends CaskadeError {
	override readonly name = 'InvalidRequestError';
}

/** 400: the account is unknown, disabled, or belongs to another client. */
export class InvalidAccountError extends CaskadeError {
	override readonly name = 'InvalidAccountError';
}

/** 400 for any other reason. */
export class BadRequestError extends CaskadeError {
	override readonly name = 'BadRequestError';
}

/** 403: the API key is missing, unknown, expired or revoked, or the request comes from a browser. */
export class ForbiddenError extends CaskadeError {
	override readonly name = 'ForbiddenError';
}

/** 404, 405: there is no Caskade at `url`, or an older version. */
export class NotFoundError extends CaskadeError {
	override readonly name = 'NotFoundError';
}

/** 413: the body is over 256 KiB. */
export class PayloadTooLargeError extends CaskadeError {
	override readonly name = 'PayloadTooLargeError';
}

/** 415: something between client and server changed the body. */
export class UnsupportedMediaTypeError extends CaskadeError {
	override readonly name = 'UnsupportedMediaTypeError';
}

/** 429: the rate of the usage plan is exceeded. */
export class RateLimitError extends RetryableError {
	override readonly name = 'RateLimitError';
}

/** 429: the monthly quota is used up. `retryAfterMs` is the time until the first of the next month. */
export class QuotaExceededError extends CaskadeError {
	override readonly name = 'QuotaExceededError';
}

/** 500: nothing is stored, or the outcome is unknown. */
export class InternalServerError extends RetryableError {
	override readonly name = 'InternalServerError';
}

/** 502: a proxy could not reach the server. */
export class BadGatewayError extends RetryableError {
	override readonly name = 'BadGatewayError';
}

/** 503: the server's queue is full, or the server is stopping. */
export class OverloadedError extends RetryableError {
	override readonly name = 'OverloadedError';
}

/** 504: the request took too long. From the server itself this means that nothing is stored. A proxy cannot know. */
export class RequestTimedOutError extends RetryableError {
	override readonly name = 'RequestTimedOutError';
}

/** No answer, or an incomplete one. The request may or may not have been processed. */
export class ConnectionError extends RetryableError {
	override readonly name = 'ConnectionError';

	/** For example `ECONNREFUSED`, where the platform tells it. */
	get code(): string | undefined {
		const { code, cause } = (this.cause ?? {}) as { code?: unknown; cause?: { code?: unknown } };
		return [cause?.code, code].find((one) => typeof one === 'string');
	}
}

/** An answer that Caskade never gives, for example a proxy's login page. */
export class UnexpectedAnswerError extends CaskadeError {
	override readonly name = 'UnexpectedAnswerError';
}

const classes: Readonly<Record<number, new (message: string, details: ErrorDetails) => CaskadeError>> = {
	403: ForbiddenError,
	404: NotFoundError,
	405: NotFoundError,
	413: PayloadTooLargeError,
	415: UnsupportedMediaTypeError,
	429: RateLimitError,
	500: InternalServerError,
	502: BadGatewayError,
	503: OverloadedError,
	504: RequestTimedOutError,
};

/** Maps an answer to its error. @param text body of the answer */
export function errorOf(status: number, headers: Headers, text: string): CaskadeError {
	const { message, validationErrors } = parseBody(text);
	const details = {
		status,
		requestId: headers.get('x-request-id') ?? undefined,
		retryAfterMs: retryAfterMs(headers),
	};
	if (validationErrors === 'Invalid account') return new InvalidAccountError(message, details);
	const sentence = [message, validationErrors].filter(Boolean).join(' ') || `the server answered ${status}`;
	if (status === 400) return badRequest(sentence, validationErrors, details);
	if (
		status === 429 &&
		message === 'Too Many Requests' &&
		!/"quota";r=[1-9]/.test(headers.get('ratelimit') ?? '')
	)
		return new QuotaExceededError('The monthly quota is used up.', details);
	const Known = classes[status] ?? UnexpectedAnswerError;
	return new Known(sentence, details);
}

function badRequest(sentence: string, validationErrors: string | null, details: ErrorDetails): CaskadeError {
	if (/^Error (inserting|reading) /.test(sentence))
		return new InvalidRequestError(sentence, { ...details, rows: rowsOf(validationErrors ?? '') });
	return new BadRequestError(sentence, details);
}

/** Parses the rows in an error text, for example `data[3].tid is required; data[7].rvn must be an integer; and 5 more`. */
export function rowsOf(text: string): RowProblem[] {
	return text.split('; ').flatMap((problem) => {
		const [, index, field = '', message = ''] = /^data\[(\d+)\](?:\.(\w+))? (.*)$/s.exec(problem) ?? [];
		return index === undefined ? [] : [{ index: Number(index), field, message }];
	});
}

function parseBody(text: string): { message: string; validationErrors: string | null } {
	try {
		const body = JSON.parse(text);
		const textOf = (value: unknown) => (typeof value === 'string' ? value : null);
		return { message: textOf(body?.message) ?? '', validationErrors: textOf(body?.validationErrors) };
	} catch {
		return { message: '', validationErrors: null };
	}
}

/** Parses `retry-after`, which is in seconds, or a date if a proxy sent it. */
function retryAfterMs(headers: Headers): number | undefined {
	const value = headers.get('retry-after');
	if (value === null) return undefined;
	const ms = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now();
	return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}
