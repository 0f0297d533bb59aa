import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { AccessDirectory } from '../../../core/access/directory.ts';
import type { Quota } from '../../../core/access/quota.ts';
import {
	type AdmittedRequest,
	accountOf,
	type KeyOperationOptions,
	keyOperation,
} from '../../../core/api/key-operation.ts';
import { storeFailed } from '../../../core/api/store-failed.ts';
import { ApiError } from '../../../core/errors.ts';
import { decimalsOf } from '../../../core/format/currencies.ts';
import { sendJson } from '../../../core/http/answer.ts';
import { describeErrors, describeJson } from '../../../core/http/openapi.ts';
import { Type } from '../../../core/schema/type.ts';
import type { KeyUsage } from '../../../core/store/control/control-store.ts';

export interface UsageOptions extends KeyOperationOptions {
	readonly directory: AccessDirectory;
	readonly quota: Quota;
	/** A key's usage this month, over all servers. */
	readonly usageOf: (keyId: string) => Promise<KeyUsage | undefined>;
}

/** Limited, because each request queries the control database. */
const limit = { name: 'usage', ratePerSecond: 1, burst: 10 };

/** `GET /usage`: the limits of the key, and what is left of its quota. */
export function usage(app: FastifyInstance, options: UsageOptions): void {
	const { directory, quota, usageOf } = options;
	async function handle(
		request: FastifyRequest,
		reply: FastifyReply,
		admitted: AdmittedRequest,
	): Promise<FastifyReply> {
		const { id, plan } = admitted.key;
		const { aid } = request.query as { aid?: unknown };
		const account = aid === undefined ? undefined : accountOf(aid, admitted, directory);
		if (aid !== undefined && !account)
			throw new ApiError('invalid_account', { detail: 'aid must be one account of this API key.' });
		// Reports first, so that the answer includes what this server has admitted so far.
		await quota.report();
		const known = await usageOf(id).catch(storeFailed());
		// The deadline has answered already.
		if (reply.sent) return reply;
		const { used = 0, forfeited = 0, remaining = plan.quotaPerMonth, resetsAt } = known ?? {};
		const body = {
			plan: plan.name,
			ratePerSecond: plan.ratePerSecond,
			burst: plan.burst,
			quotaPerMonth: plan.quotaPerMonth,
			used,
			forfeited,
			remaining,
			resetsAt,
			maxEvents: plan.maxEvents,
			timeoutMs: plan.timeoutMs,
			...(account && { currency: account.currency, decimals: decimalsOf(account.currency) }),
		};
		sendJson(reply, 200, JSON.stringify(body));
		return reply;
	}

	keyOperation(app, options, {
		method: 'GET',
		url: '/usage',
		name: 'readUsage',
		takes: limit,
		description: {
			tags: ['Subscription events'],
			summary: 'Retrieve the limits of the key, and what is left of its quota',
			description: `Uses neither rate nor quota. A key may ask ${limit.ratePerSecond} time a second, with a burst of ${limit.burst}. For servers, not for browsers.`,
			querystring: Type.Object({
				aid: Type.Optional(Type.String({ description: 'An account, to be told what its amounts are in.' })),
			}),
			response: {
				200: describeJson('The plan of the key, and its use this month.', usageSchema, exampleUsage),
				...describeErrors({
					invalid_account: ['No account c-a-x is available to this API key.'],
					forbidden: [],
					rate_limit_exceeded: [],
					internal: ['the store failed'],
					timeout: [],
				}),
			},
		},
		handle,
	});
}

const usageSchema = Type.Object({
	plan: Type.String({ description: 'Name of the usage plan.' }),
	ratePerSecond: Type.Number({ description: 'Requests per second.' }),
	burst: Type.Integer({ description: 'Requests that may be sent at once.' }),
	quotaPerMonth: Type.Integer({ description: 'Requests per calendar month, UTC.' }),
	used: Type.Integer({
		description:
			'Requests of this month that were admitted. Those of other servers are included within a fifth of a second.',
	}),
	forfeited: Type.Integer({
		description:
			'Requests that crashed servers had reserved, up to 99 a crash. They cannot be used any more, and some of them may have been.',
	}),
	remaining: Type.Integer({
		description: 'The rest of the quota: `quotaPerMonth` less `used` and `forfeited`.',
	}),
	resetsAt: Type.String({ format: 'date-time', description: 'When the quota is reset.' }),
	maxEvents: Type.Integer({ description: 'Maximum number of events in a request.' }),
	timeoutMs: Type.Integer({ description: 'Time limit of a request.' }),
	currency: Type.Optional(
		Type.String({
			description: 'What amounts are in the minor unit of, of the account that the request names.',
		}),
	),
	decimals: Type.Optional(Type.Integer({ description: 'Decimals of that unit: 2 for GBP, 0 for JPY.' })),
});

const exampleUsage = {
	plan: 'standard',
	ratePerSecond: 10,
	burst: 1,
	quotaPerMonth: 1_000_000,
	used: 1204,
	forfeited: 0,
	remaining: 998_796,
	resetsAt: '2026-12-01T00:00:00.000Z',
	maxEvents: 30,
	timeoutMs: 5000,
	currency: 'GBP',
	decimals: 2,
};
