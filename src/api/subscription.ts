import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import Type, { type Static } from 'typebox';
import { Compile } from 'typebox/compile';
import type { Admission } from '../access/admission.ts';
import type { AccessDirectory, KnownKey } from '../access/directory.ts';
import { Deadline } from '../deadline.ts';
import type { SubscriptionEvent } from '../domain/subscription-event.ts';
import { ApiError, isOutcomeUnknown, QueueFullError } from '../errors.ts';
import { sendError, sendJson } from '../http/answer.ts';
import { askForBody, checkBodyHeaders, parseJson } from '../http/body.ts';
import { describeErrors, describeSuccess } from '../http/openapi.ts';
import { compileProblems, describeProblems } from '../schema/problems.ts';
import { optional, text, textLimits, textRule } from '../schema/texts.ts';
import type { ServingWriter, UploadOutcome } from '../store/store.ts';

export const eventSchema = Type.Object(
	{
		tid: text('Transaction id. Keeps sales unique: of events with the same tid, the first is stored.', [
			'order-1001',
		]),
		subid: text("Id of the subscription in the client's own system. May equal tid.", ['sub-77']),
		cid: optional(Type.String(textLimits), textRule, {
			description: 'Customer id. Links external and internal data. Null or empty: none.',
			examples: ['customer-42'],
		}),
		evt: text('Type of the subscription event.', ['newsletter']),
		rvn: optional(
			Type.Integer({ minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER }),
			'an integer',
			{ description: 'Revenue in British pence; negative for a refund. Null or empty: 0.', examples: [499] },
		),
	},
	{ description: 'A subscription event.' },
);

const dataOptions = {
	minItems: 1,
	description: 'At most 30 subscription events, where the usage plan of the key does not say otherwise.',
	'x-must-be': 'an array of at least one subscription event',
};

const uploadFields = {
	aid: text('Account token of the client.', ['c-a-acme-uk']),
	data: Type.Array(eventSchema, dataOptions),
	simulate: Type.Optional(
		Type.Boolean({
			default: false,
			description: 'Do everything but store. Counts toward the quota.',
			'x-must-be': 'a boolean',
		}),
	),
};

const uploadSchema = Type.Object(uploadFields, {
	description: 'Subscription events of one account. Unknown properties are ignored.',
});

const uploadCheck = Compile(uploadSchema);
const accountCheck = Compile(uploadFields.aid);
/** Of the request as a whole; those of its events are found one by one. */
const uploadProblems = compileProblems(
	Type.Object({ ...uploadFields, data: Type.Array(Type.Unknown(), dataOptions) }),
);
export const eventProblems = compileProblems(eventSchema);

const storedBody = '{"message":"Subscription created successfully.","validationErrors":null}';
const simulatedBody = '{"message":"Subscription simulated successfully.","validationErrors":null}';

/** What a request of this operation carries from its admission to its answer. */
interface AdmittedUpload {
	readonly key: KnownKey;
	/** Null until the request is admitted. */
	deadline: Deadline | null;
}

declare module 'fastify' {
	interface FastifyRequest {
		upload: AdmittedUpload | null;
	}
	interface FastifyContextConfig {
		/** The operation's name in metrics and logs. */
		operation?: string;
	}
}

export interface SubscriptionOptions {
	readonly admission: Admission;
	readonly directory: AccessDirectory;
	readonly writer: ServingWriter;
	readonly now: () => number;
	readonly onTimeout: (requestId: string) => void;
	readonly onUpload: (requestId: string, result: UploadResult) => void;
}

/** An upload that was stored or simulated, and what became of it. */
export interface UploadResult {
	readonly aid: string;
	readonly events: readonly SubscriptionEvent[];
	readonly simulate: boolean;
	readonly outcome: UploadOutcome;
}

/** `POST /subscription`: uploads subscription events of one account (spec section 4.1). */
export function subscription(app: FastifyInstance, options: SubscriptionOptions): void {
	const { admission, directory, writer, now, onUpload, onTimeout } = options;
	app.decorateRequest('upload', null);

	/** Key, rate, quota, size and media type: decided before the body is read. */
	function admit(request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): void {
		try {
			const key = admission.identify(request.headers);
			request.upload = { key, deadline: null };
			const waiting = admission.take(key);
			const deadline = new Deadline(key.plan.timeoutMs, () => {
				onTimeout(request.id);
				sendError(request, reply, new ApiError('timeout'));
			});
			request.upload.deadline = deadline;
			if (waiting) {
				waiting
					.then(() => {
						// Whoever has gone meanwhile gets no answer, and nothing else would end the deadline.
						if (request.raw.destroyed) deadline.clear();
						admitBody(request, reply);
					}, storeFailed())
					.then(() => done(), done);
				return;
			}
			admitBody(request, reply);
			done();
		} catch (error) {
			// Straight to the answer: the framework's way with errors costs a third of a refusal.
			if (error instanceof ApiError) sendError(request, reply, error);
			else done(error as Error);
		}
	}

	function admitBody(request: FastifyRequest, reply: FastifyReply): void {
		checkBodyHeaders(request.headers);
		askForBody(request, reply);
	}

	async function handle(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
		const { key, deadline } = request.upload as AdmittedUpload & { deadline: Deadline };
		const { aid, simulate, events, accountId } = readUpload(request.body as Buffer, key, directory);
		const outcome = await writer
			.storeSubscriptionEvents(accountId, { events, receivedAtMs: now(), simulate }, deadline)
			.catch(storeFailed(aid));
		if (outcome === 'expired') throw new ApiError('timeout');
		reply.headers(outcomeHeaders(outcome));
		sendJson(reply, simulate ? 200 : 201, simulate ? simulatedBody : storedBody);
		// After the answer: what is stored must be answered so, whatever becomes of the log.
		onUpload(request.id, { aid, events, simulate, outcome });
		return reply;
	}

	app.route({
		method: 'POST',
		url: '/subscription',
		config: { operation: 'uploadSubscription' },
		schema: {
			operationId: 'uploadSubscription',
			tags: ['Subscription events'],
			summary: 'Upload subscription events',
			description:
				'Stores subscription events of one account, all of a request or none. For servers, not for browsers. Any retry is safe.',
			security: [{ apiKey: [] }],
			body: uploadSchema,
			response: {
				201: describeSuccess('Stored, durably.', storedBody),
				200: describeSuccess('Simulated: nothing is stored.', simulatedBody),
				...describeErrors({
					malformed_json: ['the body is empty'],
					invalid_request: ['data[3].tid is required; data[7].rvn must be an integer'],
					invalid_account: ['No account c-a-x is available to this API key.'],
					bad_request: ['the body is not as long as content-length says'],
					forbidden: [],
					payload_too_large: ['the body may have at most 262144 bytes'],
					unsupported_media_type: ['content-type must be application/json, in UTF-8'],
					rate_limit_exceeded: [],
					quota_exceeded: [],
					internal: ['the store failed; nothing is stored, retrying is safe'],
					overloaded: [],
					timeout: [],
				}),
			},
		},
		onRequest: admit,
		onSend: (request, reply, payload, done) => {
			const { upload } = request;
			if (upload) {
				upload.deadline?.clear();
				reply.headers(admission.limitHeaders(upload.key));
			}
			done(null, payload);
		},
		handler: handle,
	});
}

/**
 * Repeats that are named, of either kind: proxies refuse an answer whose headers have some thousand bytes, and it must not
 * be the answer to what is stored.
 */
const maxNamedRows = 100;

function outcomeHeaders({
	stored,
	duplicateRows,
	conflictingRows,
}: UploadOutcome): Record<string, string | number> {
	const named = (rows: readonly number[]) => rows.slice(0, maxNamedRows).join();
	return {
		'x-events-stored': stored,
		'x-events-duplicate': duplicateRows.length,
		'x-events-conflicting': conflictingRows.length,
		...(duplicateRows.length > 0 && { 'x-duplicate-rows': named(duplicateRows) }),
		...(conflictingRows.length > 0 && { 'x-conflicting-rows': named(conflictingRows) }),
	};
}

/** @returns what throws an ApiError for whatever the store threw */
function storeFailed(aid?: string): (error: unknown) => never {
	return (error) => {
		if (error instanceof ApiError) throw error;
		if (error instanceof QueueFullError)
			throw new ApiError('overloaded', { headers: { 'retry-after': '1' } });
		const detail = isOutcomeUnknown(error)
			? 'outcome unknown; retrying is safe'
			: 'the store failed; nothing is stored, retrying is safe';
		throw new ApiError('internal', { detail, ...(aid !== undefined && { aid }), cause: error });
	};
}

/**
 * A body's upload: the JSON, then the account, then all rows.
 * @throws ApiError `malformed_json`, `invalid_account`, `invalid_request`
 */
function readUpload(
	bytes: Buffer | undefined,
	key: KnownKey,
	directory: AccessDirectory,
): { aid: string; accountId: number; simulate: boolean; events: SubscriptionEvent[] } {
	const body = parseJson(bytes ?? Buffer.alloc(0));
	const aid = typeof body === 'object' && body !== null && 'aid' in body ? body.aid : undefined;
	const accountId = accountCheck.Check(aid) ? directory.accountId(aid, key.clientId) : undefined;
	if (accountId === undefined && accountCheck.Check(aid))
		throw new ApiError('invalid_account', { detail: `No account ${aid} is available to this API key.` });
	if (accountId === undefined || !uploadCheck.Check(body) || body.data.length > key.plan.maxEvents)
		throw new ApiError('invalid_request', {
			detail: describeProblems(findProblems(body, key.plan.maxEvents)),
		});
	return {
		aid: body.aid,
		accountId,
		simulate: body.simulate ?? false,
		events: body.data.map(toEvent),
	};
}

/** What is stored of an event that the schema has let in. */
export function toEvent({ tid, subid, cid, evt, rvn }: Static<typeof eventSchema>): SubscriptionEvent {
	return { tid, subid, cid: cid || null, evt, rvn: rvn || 0 };
}

/** No plan allows more; of a request with more, those after them are not looked at one by one. */
const maxNamedEvents = 1000;

function* findProblems(body: unknown, maxEvents: number): Iterable<string> {
	yield* uploadProblems(body, '');
	const data = (body as { data?: unknown } | null)?.data;
	if (!Array.isArray(data)) return;
	if (data.length > maxEvents) yield `data must have at most ${maxEvents} objects, it has ${data.length}`;
	for (const [index, event] of data.slice(0, maxNamedEvents).entries())
		yield* eventProblems(event, `data[${index}]`);
}
