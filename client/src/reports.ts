import type { Report, ReportQuery } from './api-types.ts';
import type { CallOptions, Transport } from './transport.ts';

/** The parameters of a report besides the account. */
export type ReportOptions = Omit<ReportQuery, 'aid'> & CallOptions;

/**
 * Reports of an account. They require a key that may read, which cannot upload. Each report takes one request from rate and
 * quota, and may take as long as the key's plan allows: set `timeoutMs` of the client accordingly.
 */
export class Reports {
	readonly #transport: Transport;

	constructor(transport: Transport) {
		this.#transport = transport;
	}

	/** What each channel is credited with. @throws CaskadeError */
	attribution(aid: string, options?: ReportOptions): Promise<Report> {
		return this.#read('attribution', aid, options);
	}

	/** The paths to subscriptions, and how long they took. @throws CaskadeError */
	paths(aid: string, options?: ReportOptions): Promise<Report> {
		return this.#read('paths', aid, options);
	}

	/** What subscriptions bring, by month of acquisition. @throws CaskadeError */
	ltv(aid: string, options?: ReportOptions): Promise<Report> {
		return this.#read('ltv', aid, options);
	}

	/** Who renews, and who is refunded. @throws CaskadeError */
	renewals(aid: string, options?: ReportOptions): Promise<Report> {
		return this.#read('renewals', aid, options);
	}

	/** How many events have found their visitor. @throws CaskadeError */
	coverage(aid: string, options?: ReportOptions): Promise<Report> {
		return this.#read('coverage', aid, options);
	}

	/** What subscriptions have cost. @throws CaskadeError */
	spend(aid: string, options?: ReportOptions): Promise<Report> {
		return this.#read('spend', aid, options);
	}

	async #read(kind: string, aid: string, { signal, ...parameters }: ReportOptions = {}): Promise<Report> {
		const query = new URLSearchParams({ aid });
		for (const [name, value] of Object.entries(parameters)) if (value !== undefined) query.set(name, value);
		const path = `/reports/${kind}?${query}`;
		const answer = await this.#transport.send({
			method: 'GET',
			path,
			isPaced: true,
			...(signal && { signal }),
		});
		return answer.body as Report;
	}
}
