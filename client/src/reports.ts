import { type Report, type ReportQuery, type ReportsBy, reportKinds } from './api-types.ts';
import type { CallOptions, Transport } from './transport.ts';

/** The parameters of a report besides the account. */
export type ReportOptions = Omit<ReportQuery, 'aid'> & CallOptions;

/**
 * Reports of an account. They require a key with the scope `read`, which cannot upload. Each report counts as one request
 * of rate and quota. It may take as long as the key's plan allows, so set the client's `timeoutMs` accordingly.
 */
export type Reports = ReportsBy<ReportOptions>;

export function reportsWith(transport: Transport): Reports {
	const read = async (kind: string, aid: string, options: ReportOptions = {}): Promise<Report> => {
		const { signal, retryForMs, onRetry, ...parameters } = options;
		const query = new URLSearchParams({ aid });
		for (const [name, value] of Object.entries(parameters)) if (value !== undefined) query.set(name, value);
		const path = `/reports/${kind}?${query}`;
		const request = { method: 'GET', path, isPaced: true, signal, retryForMs, onRetry } as const;
		return (await transport.send(request)).body as Report;
	};
	const readers = reportKinds.map((kind) => [
		kind,
		(aid: string, options?: ReportOptions) => read(kind, aid, options),
	]);
	return Object.fromEntries(readers);
}
