import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { AccessDirectory } from '../../../core/access/directory.ts';
import {
	type AdmittedRequest,
	accountOf,
	bodyErrors,
	type KeyOperationOptions,
	keyOperation,
	readErrors,
} from '../../../core/api/key-operation.ts';
import { storeFailed } from '../../../core/api/store-failed.ts';
import { ApiError } from '../../../core/errors.ts';
import { sendJson } from '../../../core/http/answer.ts';
import { parseJson } from '../../../core/http/body.ts';
import { describeErrors, describeJson } from '../../../core/http/openapi.ts';
import { describeProblems } from '../../../core/schema/problems.ts';
import { exampleEvent, storedEventSchema } from '../../../core/schema/subscription-request.ts';
import { Type } from '../../../core/schema/type.ts';
import type { Receipt } from '../../../core/store/account/reading/stored-receipts.ts';
import type { KnownAccount } from '../../../core/store/control/control-store.ts';
import type { ServingReader } from '../../../core/store/serving.ts';
import { maxReceipts, receiptsCheck, receiptsProblems, receiptsSchema } from './receipt-request.ts';

export interface ReceiptOptions extends KeyOperationOptions {
	readonly directory: AccessDirectory;
	readonly reader: ServingReader;
}

/** `POST /subscription/receipts`: the receipts of several `tid`s. */
export function severalReceipts(app: FastifyInstance, options: ReceiptOptions): void {
	const { directory, reader } = options;
	async function handle(
		request: FastifyRequest,
		reply: FastifyReply,
		admitted: AdmittedRequest,
	): Promise<FastifyReply> {
		const body = parseJson(request.body as Buffer | undefined);
		const { aid } = (body ?? {}) as { aid?: unknown };
		const account = accountOf(aid, admitted, directory);
		if (!account || !receiptsCheck(body))
			throw new ApiError('invalid_receipt_request', {
				detail: describeProblems(receiptsProblems(body, '')),
			});
		const found = await readReceipts(reader, account, body.tids);
		// The deadline has answered already.
		if (reply.sent) return reply;
		const answers = body.tids.map((tid) => describeReceipt(tid, found.get(tid)));
		sendJson(reply, 200, JSON.stringify({ aid: body.aid, receipts: answers }));
		return reply;
	}

	keyOperation(app, options, {
		method: 'POST',
		url: '/subscription/receipts',
		name: 'readReceipts',
		takes: 'rate and quota',
		description: {
			tags: ['Subscription events'],
			summary: 'Retrieve the receipts of several events',
			description: `Up to ${maxReceipts} transaction ids of one account. Uses one request of rate and quota. For servers, not for browsers.`,
			body: receiptsSchema,
			response: {
				200: describeJson(
					'A receipt for each `tid`, in the order of the request.',
					Type.Object({
						aid: Type.String({ description: 'The account.' }),
						receipts: Type.Array(Type.Union([storedSchema, missingSchema])),
					}),
					{
						aid: 'c-a-acme-uk',
						receipts: [exampleReceipt, { tid: 'order-1002', stored: false }],
					},
				),
				...describeErrors({
					malformed_json: ['the body is empty'],
					invalid_receipt_request: ['aid is required'],
					invalid_account: ['No account c-a-x is available to this API key.'],
					...bodyErrors,
					...readErrors,
				}),
			},
		},
		handle,
	});
}

const fieldSchemas = {
	tid: Type.String({ description: 'Transaction id, as in the request.' }),
	receivedAt: Type.String({ format: 'date-time', description: 'When the event arrived.' }),
	requestId: Type.Union([Type.String(), Type.Null()], {
		description:
			'The `x-request-id` of the answer that acknowledged the event. Null if it was imported, or stored by a version that did not record it.',
	}),
	joined: Type.Boolean({ description: 'Whether the event is joined to a visitor.' }),
};

export const storedSchema = Type.Object(
	{
		tid: fieldSchemas.tid,
		stored: Type.Literal(true),
		receivedAt: fieldSchemas.receivedAt,
		requestId: fieldSchemas.requestId,
		joined: fieldSchemas.joined,
		event: storedEventSchema,
	},
	{ description: 'Stored.' },
);

const missingSchema = Type.Object(
	{ tid: fieldSchemas.tid, stored: Type.Literal(false) },
	{ description: 'Not stored.' },
);

export const exampleReceipt = {
	tid: 'order-1001',
	stored: true,
	receivedAt: '2026-11-22T10:04:05.006Z',
	requestId: 'f1104c7d-62c8-4197-8130-76f6fb683b9a',
	joined: true,
	event: exampleEvent,
};

/** The stored events of an account with these `tid`s, by `tid`. */
export async function readReceipts(
	reader: ServingReader,
	{ id, aid }: Pick<KnownAccount, 'id' | 'aid'>,
	tids: readonly string[],
): Promise<Map<string, Receipt>> {
	const found = await Promise.try(() => reader.receipts(id, tids)).catch(storeFailed(aid));
	return new Map(found.map((receipt) => [receipt.event.tid, receipt]));
}

/** A receipt in an answer. */
export function describeReceipt(tid: string, receipt: Receipt | undefined): object {
	if (!receipt) return { tid, stored: false };
	const { event, atMs, receivedAtMs, requestId, joined } = receipt;
	return {
		tid,
		stored: true,
		receivedAt: new Date(receivedAtMs).toISOString(),
		requestId,
		joined,
		event: atMs === undefined ? event : { ...event, at: new Date(atMs).toISOString() },
	};
}
