import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { AccessDirectory } from '../access/directory.ts';
import type { RequestCounter } from '../access/request-counter.ts';
import { isUnjoinable } from '../domain/ownership.ts';
import type { SubscriptionEvent, UploadedEvent } from '../domain/subscription-event.ts';
import { ApiError, withoutKeys } from '../errors.ts';
import { sendJson } from '../http/answer.ts';
import { hasPlainTexts, parseJson } from '../http/body.ts';
import {
	describeErrors,
	describeLimits,
	type ResponseDescription,
	requestIdHeader,
	resultSchema,
} from '../http/openapi.ts';
import { describeProblems } from '../schema/problems.ts';
import {
	findTimeProblems,
	findUploadProblems,
	plainUploadCheck,
	toEvent,
	uploadCheck,
	uploadSchema,
} from '../schema/subscription-request.ts';
import type { UploadOutcome } from '../store/account/arriving/arriving-events.ts';
import type { KnownAccount } from '../store/control/control-store.ts';
import type { RequestWriter } from '../store/serving.ts';
import {
	type AdmittedRequest,
	accountOf,
	bodyErrors,
	type KeyOperationOptions,
	keyOperation,
	nothingStored,
} from './key-operation.ts';
import { storeFailed } from './store-failed.ts';

/** Its name in metrics and logs. */
export const uploadOperation = 'uploadSubscription';

const storedBody = '{"message":"Subscription created successfully.","validationErrors":null}';
const simulatedBody = '{"message":"Subscription simulated successfully.","validationErrors":null}';

export interface SubscriptionOptions extends KeyOperationOptions {
	readonly directory: AccessDirectory;
	readonly writer: Pick<RequestWriter, 'storeSubscriptionEvents'>;
	readonly now: () => number;
	readonly onUpload: (requestId: string, result: UploadResult) => void;
}

/** An upload that was stored or simulated, and its outcome. */
export interface UploadResult {
	readonly aid: string;
	readonly events: readonly SubscriptionEvent[];
	readonly simulate: boolean;
	readonly outcome: UploadOutcome;
}

/** `POST /subscription`: uploads subscription events of one account (spec section 4.1). */
export function subscription(app: FastifyInstance, options: SubscriptionOptions): void {
	const { directory, writer, now, onUpload } = options;
	async function handle(
		request: FastifyRequest,
		reply: FastifyReply,
		admitted: AdmittedRequest,
	): Promise<FastifyReply> {
		const { account, simulate, events } = readUpload(request.body as Buffer, admitted, {
			directory,
			nowMs: now(),
		});
		const { id, aid, keepsConflicts } = account;
		const outcome = await writer
			.storeSubscriptionEvents(
				id,
				{
					events,
					simulate,
					keepsConflicts,
					receivedAtMs: now(),
					requestId: request.id,
					keyId: admitted.key.id,
				},
				admitted.deadline,
			)
			.catch(storeFailed(aid, nothingStored));
		if (outcome === 'expired') throw new ApiError('timeout');
		admitted.conflictingRows = outcome.conflictingRows;
		reply.headers(outcomeHeaders(outcome, events));
		sendJson(reply, simulate ? 200 : 201, simulate ? simulatedBody : storedBody);
		// After the answer, which must be sent even if logging fails.
		onUpload(request.id, { aid, events, simulate, outcome });
		return reply;
	}

	keyOperation(app, options, {
		method: 'POST',
		url: '/subscription',
		name: uploadOperation,
		takes: 'rate and quota',
		description: {
			tags: ['Subscription events'],
			summary: 'Upload subscription events',
			description:
				'Stores subscription events of one account: all events of a request, or none. For servers, not for browsers. Every retry is safe.',
			body: uploadSchema,
			response: {
				201: describeSuccess('Stored, durably.', storedBody),
				200: describeSuccess('Simulated: nothing is stored.', simulatedBody),
				...describeErrors({
					malformed_json: ['the body is empty'],
					invalid_request: ['data[3].tid is required; data[7].rvn must be an integer'],
					invalid_account: ['No account c-a-x is available to this API key.'],
					...bodyErrors,
					forbidden: [],
					rate_limit_exceeded: [],
					quota_exceeded: [],
					internal: ['the store failed; nothing is stored, retrying is safe'],
					overloaded: [],
					timeout: [],
				}),
			},
		},
		handle,
	});
}

const maxDetailLength = 500;

/** Counts how an upload with a known key was answered, without anything that it has sent. */
export function countUpload(
	counter: RequestCounter,
	request: FastifyRequest,
	statusCode: number,
	atMs: number,
): void {
	const { admitted, refusal } = request;
	if (!admitted) return;
	const { key, aid = null, conflictingRows = [] } = admitted;
	const cause =
		refusal?.code ?? (statusCode === 200 ? 'simulated' : conflictingRows.length > 0 ? 'conflict' : 'stored');
	counter.answerUpload({ clientId: key.clientId, aid, cause, atMs }, () => {
		const rows = conflictingRows.length > 0 ? `rows ${named(conflictingRows)} of data` : '';
		const detail = withoutKeys(refusal?.detail ?? rows).slice(0, maxDetailLength);
		return { requestId: request.id, keyId: key.id, detail };
	});
}

/** Documents a success by its body. */
function describeSuccess(description: string, body: string): ResponseDescription {
	return {
		description,
		headers: {
			'x-request-id': requestIdHeader,
			'x-events-stored': { type: 'integer', description: 'Events that were new.' },
			'x-events-duplicate': {
				type: 'integer',
				description:
					'Events whose tid was stored before, or occurs earlier in the request; they are not stored again.',
			},
			'x-events-conflicting': {
				type: 'integer',
				description: 'Duplicates whose content differs from the stored event, which does not change.',
			},
			'x-duplicate-rows': {
				type: 'string',
				description: 'Indices of the duplicates in `data`, from 0; the first 100. Absent if there are none.',
				example: '3,7',
			},
			'x-conflicting-rows': {
				type: 'string',
				description:
					'Indices of the conflicting events in `data`, from 0; the first 100. Absent if there are none.',
				example: '7',
			},
			'x-unjoinable-rows': {
				type: 'string',
				description:
					'Indices in `data`, from 0, of events with a tid, subid or cid that joins nobody: it stands for a missing one, such as null or undefined, or too many share it. The first 100. Absent if there are none.',
				example: '4',
			},
			...describeLimits,
		},
		content: { 'application/json': { schema: resultSchema, example: JSON.parse(body) } },
	};
}

/**
 * Maximum number of rows listed in each header. Proxies refuse answers whose headers have some thousand bytes, and this
 * answer must arrive.
 */
const maxNamedRows = 100;

function named(rows: readonly number[]): string {
	return rows.slice(0, maxNamedRows).join();
}

function outcomeHeaders(
	{ stored, duplicateRows, conflictingRows, sharedRows = [] }: UploadOutcome,
	events: readonly SubscriptionEvent[],
): Record<string, string | number> {
	const shared = new Set(sharedRows);
	const unjoinable = events.flatMap((event, row) => (isUnjoinable(event) || shared.has(row) ? [row] : []));
	return {
		'x-events-stored': stored,
		'x-events-duplicate': duplicateRows.length,
		'x-events-conflicting': conflictingRows.length,
		...(duplicateRows.length > 0 && { 'x-duplicate-rows': named(duplicateRows) }),
		...(conflictingRows.length > 0 && { 'x-conflicting-rows': named(conflictingRows) }),
		...(unjoinable.length > 0 && { 'x-unjoinable-rows': named(unjoinable) }),
	};
}

/**
 * Checks a body: its JSON, then the account, then all rows.
 * @throws ApiError `malformed_json`, `invalid_account`, `invalid_request`
 */
function readUpload(
	bytes: Buffer | undefined,
	admitted: AdmittedRequest,
	{ directory, nowMs }: { readonly directory: AccessDirectory; readonly nowMs: number },
): { account: KnownAccount; simulate: boolean; events: UploadedEvent[] } {
	const body = parseJson(bytes);
	const aid = typeof body === 'object' && body !== null && 'aid' in body ? body.aid : undefined;
	const account = accountOf(aid, admitted, directory);
	const { maxEvents } = admitted.key.plan;
	const check = bytes && hasPlainTexts(bytes) ? plainUploadCheck : uploadCheck;
	if (!account || !check(body) || body.data.length > maxEvents)
		throw new ApiError('invalid_request', {
			detail: describeProblems(findUploadProblems(body, maxEvents)),
		});
	const events = body.data.map(toEvent);
	if (events.some(({ atMs }) => atMs !== undefined)) {
		const problems = findTimeProblems(body.data, nowMs);
		if (problems.length > 0) throw new ApiError('invalid_request', { detail: describeProblems(problems) });
	}
	return { account, simulate: body.simulate ?? false, events };
}
