/**
 * Every error that the service answers with. A test compares the table with `docs/reference/errors.md`. `message` and
 * `validationErrors` are fields of the body. Where `validationErrors` is `undefined`, the field is left out, as section 7
 * of the specification shows for some bodies. `detail` names the field that an error's own text goes to.
 */
interface ErrorEntry {
	readonly status: number;
	readonly message: string;
	readonly validationErrors: string | null | undefined;
	readonly detail?: 'message' | 'validationErrors';
	readonly when: string;
}

export const errorTable = {
	bad_request: {
		status: 400,
		message: 'Bad request.',
		validationErrors: null,
		detail: 'validationErrors',
		when: 'The request is not well-formed HTTP, or its body is shorter than announced.',
	},
	malformed_json: {
		status: 400,
		message: 'Malformed JSON.',
		validationErrors: null,
		detail: 'validationErrors',
		when: 'The body is empty, not UTF-8, or not JSON.',
	},
	invalid_request: {
		status: 400,
		message: 'Error inserting subscription.',
		validationErrors: null,
		detail: 'validationErrors',
		when: 'A field is missing, empty, too long or of the wrong type; the text names every one.',
	},
	invalid_receipt_request: {
		status: 400,
		message: 'Error reading receipts.',
		validationErrors: null,
		detail: 'validationErrors',
		when: 'A field is missing or of the wrong type; the text names every one.',
	},
	invalid_report: {
		status: 400,
		message: 'Error reading report.',
		validationErrors: null,
		detail: 'validationErrors',
		when: 'A parameter of a report is missing or wrong. The text names every such parameter.',
	},
	invalid_act: {
		status: 400,
		message: 'Error managing account.',
		validationErrors: null,
		detail: 'validationErrors',
		when: 'A field is missing, wrong or not known, or what was asked for cannot be done. The text names every such field.',
	},
	invalid_hit: {
		status: 400,
		message: 'Error storing hit.',
		validationErrors: null,
		detail: 'validationErrors',
		when: 'Nothing of the hit can be stored: it is not an object, names no account, or has too many events. The text names every wrong field. A hit with other wrong values is stored without these.',
	},
	invalid_account: {
		status: 400,
		message: 'Invalid account',
		validationErrors: 'Invalid account',
		detail: 'message',
		when: 'The account is unknown or disabled, or, for uploads and receipts, belongs to another client.',
	},
	unauthorized: {
		status: 401,
		message: 'Unauthorized',
		validationErrors: null,
		when: 'The cask is missing, malformed, forged or expired; the `www-authenticate` header says which.',
	},
	forbidden: {
		status: 403,
		message: 'Forbidden',
		validationErrors: null,
		when: 'An upload, a receipt, the usage: the API key is missing, unknown, expired, revoked or has another scope, or the request comes from a browser. A hit: the page is of an origin that the account does not allow. A read: the cask is valid, but not for the `aid`, `vid` or `sid` of the request, or revoked.',
	},
	not_found: {
		status: 404,
		message: 'Not found.',
		validationErrors: null,
		when: 'There is nothing at this path.',
	},
	not_stored: {
		status: 404,
		message: 'No subscription event with this tid is stored.',
		validationErrors: null,
		when: 'No event with this `tid` is stored.',
	},
	method_not_allowed: {
		status: 405,
		message: 'Method not allowed.',
		validationErrors: null,
		when: 'The path exists, but only for the methods that the `allow` header names.',
	},
	request_timeout: {
		status: 408,
		message: 'Request timeout.',
		validationErrors: null,
		when: 'The request did not arrive in time: its line and headers within 10 s, its body within 120 s.',
	},
	payload_too_large: {
		status: 413,
		message: 'Payload too large.',
		validationErrors: null,
		detail: 'validationErrors',
		when: 'The body is larger than 256 KiB, or than 16 KiB for a hit.',
	},
	unsupported_media_type: {
		status: 415,
		message: 'Unsupported media type.',
		validationErrors: null,
		detail: 'validationErrors',
		when: 'The body is not `application/json` in UTF-8 (a hit may be `text/plain`), or is compressed.',
	},
	rate_limit_exceeded: {
		status: 429,
		message: 'Rate limit exceeded.',
		validationErrors: null,
		when: 'More requests than the rate and burst of the usage plan, or more hits than one address or visitor may send; `retry-after` says when to try again.',
	},
	quota_exceeded: {
		status: 429,
		message: 'Too Many Requests',
		validationErrors: undefined,
		when: 'The monthly quota of the usage plan is used up; `retry-after` lasts until the first of the next month, 00:00 UTC.',
	},
	headers_too_large: {
		status: 431,
		message: 'Request header fields too large.',
		validationErrors: null,
		when: 'The request line and headers are larger than 16 KiB.',
	},
	internal: {
		status: 500,
		message: 'Internal server error.',
		validationErrors: null,
		detail: 'validationErrors',
		when: 'The store failed, or the service has a defect. Nothing of the request is stored, unless the text says that the outcome is unknown; retrying is safe.',
	},
	overloaded: {
		status: 503,
		message: 'Service unavailable.',
		validationErrors: null,
		when: 'More uploads or hits wait to be stored than the queue holds, the database server cannot be reached or accepts no further connections, or four reports of the client wait to be made. Nothing of the request is stored; `retry-after` says when to try again.',
	},
	timeout: {
		status: 504,
		message: 'Endpoint request timed out',
		validationErrors: undefined,
		when: 'The request took longer than the timeout of the usage plan, the arrival of its body included.',
	},
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof errorTable;

/** What an error says, for the log and the console: a client may have sent a key in a field that its message repeats. */
export const withoutKeys = (detail: string): string =>
	detail.replaceAll(/caskade_(key|identity)_[\w-]+/g, 'caskade_$1_…');

/** The JSON body of an error. `detail` goes to the client: it must not contain SQL, paths, keys, casks or a `cid`. */
export function errorBody(code: ErrorCode, detail?: string): string {
	return detail === undefined ? bodiesWithoutDetail[code] : writeBody(code, detail);
}

function writeBody(code: ErrorCode, detail?: string): string {
	const entry: ErrorEntry = errorTable[code];
	const body = { message: entry.message, validationErrors: entry.validationErrors };
	if (detail !== undefined && entry.detail) body[entry.detail] = detail;
	return JSON.stringify(body);
}

const bodiesWithoutDetail = Object.fromEntries(
	Object.keys(errorTable).map((code) => [code, writeBody(code as ErrorCode)]),
) as Record<ErrorCode, string>;

/** An error of the table. Thrown anywhere in a request, it becomes the answer. */
export class ApiError extends Error {
	readonly code: ErrorCode;
	readonly detail: string | undefined;
	readonly headers: Readonly<Record<string, string>>;
	/** The account whose database failed, for the log. */
	readonly aid: string | undefined;

	constructor(
		code: ErrorCode,
		options: { detail?: string; headers?: Record<string, string>; aid?: string; cause?: unknown } = {},
	) {
		// A refusal is not a defect, and a stack trace costs more than the rest of its answer.
		const { stackTraceLimit } = Error;
		if (errorTable[code].status < 500) Error.stackTraceLimit = 0;
		super(options.detail ?? errorTable[code].message, { cause: options.cause });
		Error.stackTraceLimit = stackTraceLimit;
		this.name = 'ApiError';
		this.code = code;
		this.detail = options.detail;
		this.headers = options.headers ?? {};
		this.aid = options.aid;
	}

	get status(): number {
		return errorTable[this.code].status;
	}
}

/** The message of anything thrown, for logs and other errors; never for answers. */
export function reasonOf(error: unknown): string {
	return error instanceof Error ? error.message : String(error);
}

/** The store could not do what it was asked to; nothing of it was stored, unless the message says otherwise. */
export class StorageError extends Error {
	override readonly name = 'StorageError';
}

/** The database cannot be reached, or gave the work up, for now. Nothing was stored, and to repeat it may succeed. */
export class UnavailableError extends StorageError {}

/** The database server accepts no further connection for now. Nothing was stored. */
export class NoConnectionError extends UnavailableError {}

/** The write may have been stored after all, because the connection or the disk was lost during the commit. */
export class OutcomeUnknownError extends StorageError {
	constructor(options?: ErrorOptions) {
		super('outcome unknown; retrying is safe', options);
	}
}

/**
 * Another transaction changed what this one had read before taking its locks, so other locks are needed. The transaction
 * must be retried. Rare, and possible only with several writers.
 */
export class ConcurrentChangeError extends StorageError {}

/** Wraps anything but a StorageError in one. */
export function asStorageError(error: unknown): StorageError {
	return error instanceof StorageError ? error : new StorageError(reasonOf(error), { cause: error });
}

/** Too many requests already wait for the store. */
export class QueueFullError extends Error {
	override readonly name = 'QueueFullError';
}

/** A command that cannot be carried out. The message says why, and what would be right. */
export class OperatorError extends Error {
	override readonly name: string = 'OperatorError';
}
