import type { MissingReceipt, ReceiptsAnswer, StoredReceipt } from './api-types.ts';
import { UnexpectedAnswerError } from './errors.ts';
import type { CallOptions, Transport } from './transport.ts';

export type Receipt = StoredReceipt | MissingReceipt;

/** Maximum number of `tid`s in one request. */
const maxTids = 100;

/** Receipts, which tell whether events are stored. */
export class Receipts {
	readonly #transport: Transport;

	constructor(transport: Transport) {
		this.#transport = transport;
	}

	/** Returns what is stored with a `tid`. Uses one request of rate and quota. @throws CaskadeError */
	async get(aid: string, tid: string, options: CallOptions = {}): Promise<Receipt> {
		const [receipt] = await this.getAll(aid, [tid], options);
		return receipt as Receipt;
	}

	/** Returns the receipts of any number of `tid`s, in their order, with one request per hundred. @throws CaskadeError */
	async getAll(aid: string, tids: readonly string[], options: CallOptions = {}): Promise<Receipt[]> {
		const receipts: Receipt[] = [];
		for (let from = 0; from < tids.length; from += maxTids) {
			const asked = tids.slice(from, from + maxTids);
			const { body, status, requestId } = await this.#transport.send({
				method: 'POST',
				path: '/subscription/receipts',
				body: JSON.stringify({ aid, tids: asked }),
				isPaced: true,
				...options,
			});
			const answer = body as ReceiptsAnswer;
			const isAnswer =
				answer?.receipts?.length === asked.length &&
				answer.receipts.every(({ tid }, place) => tid === asked[place]);
			if (!isAnswer)
				throw new UnexpectedAnswerError('the answer does not match the requested tids', {
					status,
					requestId,
				});
			receipts.push(...answer.receipts);
		}
		return receipts;
	}
}
