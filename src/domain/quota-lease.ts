/** The largest block of requests that is leased at once. */
export const largestLease = 75;

/** What a server says of a key's month, and what it asks for. */
export interface QuotaSettlement {
	readonly keyId: string;
	/** UTC, as `2026-11`. */
	readonly month: string;
	/** Requests of that month that it has admitted so far, all told. */
	readonly used: number;
	/** The number of what is asked for, from 1 on: one more than the last whose answer came. */
	readonly seq: number;
	readonly ask:
		| { readonly kind: 'nothing' }
		/** Leave to admit more. */
		| { readonly kind: 'lease'; readonly quotaPerMonth: number }
		/** To be rid of what it has not admitted. */
		| { readonly kind: 'return' };
}

/** What a server holds of a key's month. */
export interface QuotaHolding {
	/** Of the last lease or return that counted. */
	readonly seq: number;
	/** Requests that it may admit, all told; of these it has said that it has admitted `used`. */
	readonly leased: number;
	readonly used: number;
	/** By all servers, living and dead. */
	readonly leasedByAll: number;
}
