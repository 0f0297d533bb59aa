import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Admission, OwnLimit } from '../access/admission.ts';
import type { AccessDirectory } from '../access/directory.ts';
import { Deadline } from '../deadline.ts';
import type { KeyScope } from '../domain/api-key.ts';
import { ApiError } from '../errors.ts';
import { sendError } from '../http/answer.ts';
import { askForBody, checkBodyHeaders } from '../http/body.ts';
import { accountCheck } from '../schema/subscription-request.ts';
import type { KnownAccount, KnownKey } from '../store/control/control-store.ts';
import { storeFailed } from './store-failed.ts';

export interface KeyOperationOptions {
	readonly admission: Admission;
	readonly onTimeout: (request: FastifyRequest) => void;
}

/** The state of an admitted request with an API key. */
export interface AdmittedRequest {
	readonly key: KnownKey;
	/** The deadline of the key's usage plan. It starts when the limits are requested, so it covers waiting for them. */
	readonly deadline: Deadline;
	/** The account, once the request has named one of the client's; for the log. */
	aid?: string;
	/** Of an upload: rows whose `tid` was stored before with other content. */
	conflictingRows?: readonly number[];
}

interface KeyOperation {
	readonly method: 'GET' | 'POST';
	readonly url: string;
	/** Its name in metrics and logs. */
	readonly name: string;
	/** Its name in the OpenAPI document, where several operations have that one. */
	readonly operationId?: string;
	/** What a key must be for; default: upload. */
	readonly scope?: KeyScope;
	/** What each request uses up: the key's rate and quota, or the operation's own limit. */
	readonly takes: 'rate and quota' | OwnLimit;
	/** Its entry in the OpenAPI document, without the parts that all operations with a key share; or what loads it. */
	readonly description: object | (() => Promise<object>);
	/** Sends the answer, or throws an ApiError. */
	readonly handle: (
		request: FastifyRequest,
		reply: FastifyReply,
		admitted: AdmittedRequest,
	) => Promise<FastifyReply>;
}

declare module 'fastify' {
	interface FastifyRequest {
		/** The deadline is null until the limits are requested. */
		admitted: (Omit<AdmittedRequest, 'deadline'> & { deadline: Deadline | null }) | null;
	}
	interface FastifyContextConfig {
		/** The operation's name in metrics and logs. */
		operation?: string;
	}
}

/**
 * Adds an operation for clients' back ends. Key, limits, size and media type are checked in this order, before the body
 * is read. Every answer to a known key carries its limits. The deadline of its plan applies until the answer.
 */
export function keyOperation(
	app: FastifyInstance,
	{ admission, onTimeout }: KeyOperationOptions,
	operation: KeyOperation,
): void {
	if (!app.hasRequestDecorator('admitted')) app.decorateRequest('admitted', null);

	function admit(request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): void {
		try {
			const key = admission.identify(request.headers, operation.scope ?? 'upload');
			request.admitted = { key, deadline: null };
			const waiting = take(key);
			const deadline = new Deadline(key.plan.timeoutMs, () => {
				onTimeout(request);
				sendError(request, reply, new ApiError('timeout'));
			});
			request.admitted.deadline = deadline;
			if (waiting) {
				waiting
					.then(
						() => {
							// A client that has disconnected gets no answer, and nothing else would clear the deadline.
							if (request.raw.destroyed) deadline.clear();
							admitBody(request, reply);
						},
						storeFailed(undefined, nothingStored),
					)
					.then(() => done(), done);
				return;
			}
			admitBody(request, reply);
			done();
		} catch (error) {
			// Answers directly: the framework's error handling costs a third of a refusal.
			if (error instanceof ApiError) sendError(request, reply, error);
			else done(error as Error);
		}
	}

	function take(key: KnownKey): undefined | Promise<void> {
		if (operation.takes === 'rate and quota') return admission.take(key);
		admission.takeOwn(key, operation.takes);
		return undefined;
	}

	function admitBody(request: FastifyRequest, reply: FastifyReply): void {
		if (operation.method === 'GET') return;
		checkBodyHeaders(request.headers);
		askForBody(request, reply);
	}

	const { description } = operation;
	app.route({
		method: operation.method,
		url: operation.url,
		config: { operation: operation.name },
		schema: {
			operationId: operation.operationId ?? operation.name,
			security: [{ apiKey: [] }],
			...(typeof description === 'function' ? { describe: description } : description),
		},
		onRequest: admit,
		onSend: (request, reply, payload, done) => {
			const { admitted } = request;
			if (admitted) {
				admitted.deadline?.clear();
				reply.headers(admission.limitHeaders(admitted.key));
			}
			done(null, payload);
		},
		handler: (request, reply) => operation.handle(request, reply, request.admitted as AdmittedRequest),
	});
}

/** What the answer says if the store fails before an upload is stored. */
export const nothingStored = { failed: 'the store failed; nothing is stored, retrying is safe' };

/** Errors of bodies, whatever is in them. */
export const bodyErrors = {
	bad_request: ['the body is not as long as content-length says'],
	payload_too_large: ['the body may have at most 262144 bytes'],
	unsupported_media_type: ['content-type must be application/json, in UTF-8'],
};

/** Errors of operations that read and take rate and quota. */
export const readErrors = {
	forbidden: [],
	rate_limit_exceeded: [],
	quota_exceeded: [],
	internal: ['the store failed'],
	overloaded: [],
	timeout: [],
};

/**
 * @returns the account that a request names; undefined where `aid` is no text that an account could have
 * @throws ApiError `invalid_account` where it is unknown, disabled or another client's
 */
export function accountOf(
	aid: unknown,
	admitted: AdmittedRequest,
	directory: AccessDirectory,
): KnownAccount | undefined {
	if (!accountCheck(aid)) return undefined;
	const account = directory.account(aid);
	if (account?.clientId !== admitted.key.clientId)
		throw new ApiError('invalid_account', { detail: `No account ${aid} is available to this API key.` });
	admitted.aid = aid;
	return account;
}
