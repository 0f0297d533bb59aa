/** Maximum number of requests in one lease. */
export const maxLease = 75;

/** A server's usage of a key's month, and its request for more or less of the quota. */
export interface QuotaSettlement {
	readonly keyId: string;
	/** UTC, for example `2026-11`. */
	readonly month: string;
	/** Total requests of that month that the server has admitted so far. */
	readonly used: number;
	/** Sequence number of this request, from 1: one more than that of the last answer. */
	readonly seq: number;
	readonly ask:
		| { readonly kind: 'nothing' }
		/** Asks to admit more requests. */
		| { readonly kind: 'lease'; readonly quotaPerMonth: number }
		/** Returns what has not been admitted. */
		| { readonly kind: 'return' };
}

/** A server's holding of a key's month. */
export interface QuotaHolding {
	/** Sequence number of the last lease or return that took effect. */
	readonly seq: number;
	/** Total requests that the server may admit; it has reported `used` of them. */
	readonly leased: number;
	readonly used: number;
	/** Leased by all servers, including dead ones. */
	readonly leasedByAll: number;
}
