import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import {
	type AdmittedRequest,
	accountOf,
	keyOperation,
	readErrors,
} from '../../../core/api/key-operation.ts';
import { ApiError } from '../../../core/errors.ts';
import { sendJson } from '../../../core/http/answer.ts';
import { describeErrors, describeJson } from '../../../core/http/openapi.ts';
import { describeProblems } from '../../../core/schema/problems.ts';
import { Type } from '../../../core/schema/type.ts';
import {
	oneReceiptCheck,
	oneReceiptProblems,
	receiptPathSchema,
	receiptQuerySchema,
} from './receipt-request.ts';
import {
	describeReceipt,
	exampleReceipt,
	type ReceiptOptions,
	readReceipts,
	storedSchema,
} from './receipts.ts';

/** `GET /subscription/{tid}`: the receipt of one event. */
export function oneReceipt(app: FastifyInstance, options: ReceiptOptions): void {
	const { directory, reader } = options;
	async function handle(
		request: FastifyRequest,
		reply: FastifyReply,
		admitted: AdmittedRequest,
	): Promise<FastifyReply> {
		const asked = { ...(request.query as object), ...(request.params as object) };
		const account = accountOf((asked as { aid?: unknown }).aid, admitted, directory);
		if (!account || !oneReceiptCheck(asked))
			throw new ApiError('invalid_receipt_request', {
				detail: describeProblems(oneReceiptProblems(asked, '')),
			});
		const { aid, tid } = asked;
		const found = await readReceipts(reader, account, [tid]);
		// The deadline has answered already.
		if (reply.sent) return reply;
		if (!found.has(tid)) throw new ApiError('not_stored');
		sendJson(reply, 200, JSON.stringify({ aid, ...describeReceipt(tid, found.get(tid)) }));
		return reply;
	}

	keyOperation(app, options, {
		method: 'GET',
		url: '/subscription/:tid',
		name: 'readReceipt',
		takes: 'rate and quota',
		description: {
			tags: ['Subscription events'],
			summary: 'Retrieve the receipt of an event',
			description:
				'Uses one request of rate and quota. A `tid` that is `.` or `..` cannot be in a path; use `POST /subscription/receipts` for it. For servers, not for browsers.',
			params: receiptPathSchema,
			querystring: receiptQuerySchema,
			response: {
				200: describeJson(
					'Stored.',
					Type.Object({
						aid: Type.String({ description: 'The account.' }),
						...storedSchema.properties,
					}),
					{ aid: 'c-a-acme-uk', ...exampleReceipt },
				),
				...describeErrors({
					invalid_receipt_request: ['aid is required'],
					invalid_account: ['No account c-a-x is available to this API key.'],
					not_stored: [],
					...readErrors,
				}),
			},
		},
		handle,
	});
}
