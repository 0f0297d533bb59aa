/** A row that the server names. */
export interface RowProblem {
	/** Its place in what was sent, from 0. */
	readonly index: number;
	/** Empty where the row as a whole is wrong. */
	readonly field: string;
	/** As `must be an integer`. */
	readonly message: string;
}

/** What is known of an answer that was no success. */
export interface ErrorDetails {
	readonly status?: number | undefined;
	readonly requestId?: string | undefined;
	readonly retryAfterMs?: number | undefined;
	readonly rows?: readonly RowProblem[];
	readonly cause?: unknown;
}

/** Whatever goes wrong between this client and a server. Each kind has a class of its own. */
export class CaskadeError extends Error {
	override readonly name: string = 'CaskadeError';
	/** Of the answer; undefined where there was none. */
	readonly status: number | undefined;
	/** Names the request in the server's logs. */
	readonly requestId: string | undefined;
	/** When to try again, where the server says so. */
	readonly retryAfterMs: number | undefined;
	/** The rows that are wrong, where the server names them. */
	readonly rows: readonly RowProblem[];
	/** How often it was tried. */
	attempts = 1;

	constructor(message: string, { status, requestId, retryAfterMs, rows = [], cause }: ErrorDetails = {}) {
		super(message, { cause });
		this.status = status;
		this.requestId = requestId;
		this.retryAfterMs = retryAfterMs;
		this.rows = rows;
	}

	/** Whether the same request may succeed a little later. Any retry is safe: `tid` decides what is stored. */
	get isRetryable(): boolean {
		return false;
	}
}

class RetryableError extends CaskadeError {
	override get isRetryable(): boolean {
		return true;
	}
}

/** 400: a field is missing or wrong; `rows` has those that the server names. */
export class InvalidRequestError extends CaskadeError {
	override readonly name = 'InvalidRequestError';
}

/** 400: the account is unknown, disabled, or not of the key's client. */
export class InvalidAccountError extends CaskadeError {
	override readonly name = 'InvalidAccountError';
}

/** 400 for any other reason. */
export class BadRequestError extends CaskadeError {
	override readonly name = 'BadRequestError';
}

/** 403: the API key is missing, unknown or revoked, or the request comes from a browser. */
export class ForbiddenError extends CaskadeError {
	override readonly name = 'ForbiddenError';
}

/** 404, 405: there is no Caskade at `url`, or an older one. */
export class NotFoundError extends CaskadeError {
	override readonly name = 'NotFoundError';
}

/** 413: the body is over 256 KiB. */
export class PayloadTooLargeError extends CaskadeError {
	override readonly name = 'PayloadTooLargeError';
}

/** 415: something between here and the server has changed the body. */
export class UnsupportedMediaTypeError extends CaskadeError {
	override readonly name = 'UnsupportedMediaTypeError';
}

/** 429: over the rate of the usage plan. */
export class RateLimitError extends RetryableError {
	override readonly name = 'RateLimitError';
}

/** 429: the monthly quota is used up. `retryAfterMs` leads to the first of the next month. */
export class QuotaExceededError extends CaskadeError {
	override readonly name = 'QuotaExceededError';
}

/** 500: nothing is stored, or it is not known whether it is. */
export class InternalServerError extends RetryableError {
	override readonly name = 'InternalServerError';
}

/** 502: a proxy could not reach the server. */
export class BadGatewayError extends RetryableError {
	override readonly name = 'BadGatewayError';
}

/** 503: too much waits to be stored, or the server is stopping. */
export class OverloadedError extends RetryableError {
	override readonly name = 'OverloadedError';
}

/** 504: the request took longer than it may. Of the server itself it says that nothing is stored; a proxy cannot know. */
export class RequestTimedOutError extends RetryableError {
	override readonly name = 'RequestTimedOutError';
}

/** No answer, or not a whole one: whether the request has arrived is not known. */
export class ConnectionError extends RetryableError {
	override readonly name = 'ConnectionError';
}

/** An answer that no Caskade gives, as of a proxy's log-in page. */
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

/** The error that an answer stands for. @param text its body */
export function errorOf(status: number, headers: Headers, text: string): CaskadeError {
	const { message, validationErrors } = parseBody(text);
	const details = {
		status,
		requestId: headers.get('x-request-id') ?? undefined,
		retryAfterMs: retryAfterMs(headers),
	};
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
	if (validationErrors === 'Invalid account') return new InvalidAccountError(sentence, details);
	if (/^Error (inserting|reading) /.test(sentence))
		return new InvalidRequestError(sentence, { ...details, rows: rowsOf(validationErrors ?? '') });
	return new BadRequestError(sentence, details);
}

/** The rows that a text names, as `data[3].tid is required; data[7].rvn must be an integer; and 5 more`. */
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

/** Seconds; a proxy may write a date. */
function retryAfterMs(headers: Headers): number | undefined {
	const value = headers.get('retry-after');
	if (value === null) return undefined;
	const ms = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now();
	return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}
