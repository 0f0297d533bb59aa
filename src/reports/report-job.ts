import type { StorePlace } from '../store/store.ts';
import type { ReportedAccount, ReportQuery } from './report-query.ts';

/** The input of a report thread. */
export interface ReportJob {
	readonly place: StorePlace;
	readonly account: ReportedAccount;
	readonly query: ReportQuery;
}

export type ReportMessage =
	| { readonly type: 'done'; readonly json: string }
	| { readonly type: 'refused' | 'failed'; readonly reason: string };
