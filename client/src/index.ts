import type { Usage } from './api-types.ts';
import { Receipts } from './receipts.ts';
import { type Reports, reportsWith } from './reports.ts';
import { Subscriptions } from './subscriptions.ts';
import { type CallOptions, type CaskadeOptions, Transport } from './transport.ts';

export type {
	MissingReceipt,
	Report,
	ReportQuery,
	StoredReceipt,
	SubscriptionEvent,
	Usage,
} from './api-types.ts';
export {
	BadGatewayError,
	BadRequestError,
	CaskadeError,
	ConnectionError,
	ForbiddenError,
	InternalServerError,
	InvalidAccountError,
	InvalidRequestError,
	NotFoundError,
	OverloadedError,
	PayloadTooLargeError,
	QuotaExceededError,
	RateLimitError,
	RequestTimedOutError,
	type RowProblem,
	UnexpectedAnswerError,
	UnsupportedMediaTypeError,
} from './errors.ts';
export type { Receipt, Receipts } from './receipts.ts';
export type { ReportOptions, Reports } from './reports.ts';
export { signId } from './sign-id.ts';
export type {
	BatchOutcome,
	Subscriptions,
	UploadAllOptions,
	UploadOptions,
	UploadResult,
} from './subscriptions.ts';
export type { CallOptions, CaskadeOptions, Retry } from './transport.ts';
export type { UnfinishedUpload, UploadSummary } from './upload-summary.ts';
export { WebhookVerificationError, webhooks } from './webhooks.ts';

export interface UsageOptions extends CallOptions {
	readonly aid?: string | undefined;
}

/**
 * A client of a Caskade server, with one API key. It is for servers, because requests from browsers are refused. It paces all
 * its requests, so create one client per key.
 */
export class Caskade {
	readonly subscriptions: Subscriptions;
	readonly receipts: Receipts;
	readonly reports: Reports;
	readonly #transport: Transport;

	constructor(options: CaskadeOptions) {
		this.#transport = new Transport(options);
		this.subscriptions = new Subscriptions(this.#transport);
		this.receipts = new Receipts(this.#transport);
		this.reports = reportsWith(this.#transport);
	}

	/**
	 * Returns the limits of the key and the rest of its quota, and of an account what its amounts are in. Costs neither rate nor
	 * quota.
	 * @throws CaskadeError
	 */
	async usage({ aid, ...options }: UsageOptions = {}): Promise<Usage> {
		const path = aid === undefined ? '/usage' : `/usage?aid=${encodeURIComponent(aid)}`;
		const answer = await this.#transport.send({ method: 'GET', path, isPaced: false, ...options });
		return answer.body as Usage;
	}
}
