import type { Report, ReportQuery } from './api-types.ts';
import type { CallOptions, Transport } from './transport.ts';

/** The parameters of a report besides the account. */
export type ReportOptions = Omit<ReportQuery, 'aid'> & CallOptions;

/**
 * Reports of an account. They require a key with the scope `read`, which cannot upload. Each report counts as one request
 * of rate and quota. It may take as long as the key's plan allows, so set the client's `timeoutMs` accordingly.
 */
export class Reports {
	readonly #transport: Transport;

	constructor(transport: Transport) {
		this.#transport = transport;
	}

	/** Returns the credit of each channel. @throws CaskadeError */
	attribution(aid: string, options?: ReportOptions): Promise<Report> {
		return this.#read('attribution', aid, options);
	}

	/** Returns the paths to subscriptions and their durations. @throws CaskadeError */
	paths(aid: string, options?: ReportOptions): Promise<Report> {
		return this.#read('paths', aid, options);
	}

	/** Returns the lifetime value of subscriptions, by month of acquisition. @throws CaskadeError */
	ltv(aid: string, options?: ReportOptions): Promise<Report> {
		return this.#read('ltv', aid, options);
	}

	/** Returns renewals and refunds. @throws CaskadeError */
	renewals(aid: string, options?: ReportOptions): Promise<Report> {
		return this.#read('renewals', aid, options);
	}

	/** Returns how many events are joined to a visitor. @throws CaskadeError */
	coverage(aid: string, options?: ReportOptions): Promise<Report> {
		return this.#read('coverage', aid, options);
	}

	/** Returns what new subscriptions have cost. @throws CaskadeError */
	spend(aid: string, options?: ReportOptions): Promise<Report> {
		return this.#read('spend', aid, options);
	}

	async #read(
		kind: string,
		aid: string,
		{ signal, retryForMs, onRetry, ...parameters }: ReportOptions = {},
	): Promise<Report> {
		const query = new URLSearchParams({ aid });
		for (const [name, value] of Object.entries(parameters)) if (value !== undefined) query.set(name, value);
		const path = `/reports/${kind}?${query}`;
		const answer = await this.#transport.send({
			method: 'GET',
			path,
			isPaced: true,
			signal,
			retryForMs,
			onRetry,
		});
		return answer.body as Report;
	}
}
