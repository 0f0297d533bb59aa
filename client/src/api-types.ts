// Generated from /openapi.json by 'npm run build:client-types'. Do not edit.

/** A subscription event. */
export interface SubscriptionEvent {
	/** Transaction id. Keeps sales unique: of events with the same tid, the first is stored. */
	readonly tid: string;
	/** Id of the subscription in the client's own system. May equal tid. */
	readonly subid: string;
	/** Customer id. Links external and internal data. Null or empty: none. */
	readonly cid?: string | '' | null | undefined;
	/** Type of the subscription event. */
	readonly evt: string;
	/** Revenue in British pence; negative for a refund. Null or empty: 0. */
	readonly rvn?: number | '' | null | undefined;
}

/** Subscription events of one account. Unknown properties are ignored. */
export interface UploadRequest {
	/** Account token of the client. */
	readonly aid: string;
	/** At most 30 subscription events, where the usage plan of the key does not say otherwise. */
	readonly data: readonly SubscriptionEvent[];
	/** Do everything but store. Counts toward the quota. */
	readonly simulate?: boolean | undefined;
}

export interface UploadAnswer {
	/** Outcome. */
	readonly message: string;
	/** Null on success. */
	readonly validationErrors?: string | null | undefined;
}

/** Stored. */
export interface StoredReceipt {
	/** Transaction id, as it was asked for. */
	readonly tid: string;
	readonly stored: true;
	/** When the event came. */
	readonly receivedAt: string;
	/** `x-request-id` of the answer that said it was stored. Null where it was imported, or stored by a version that did not keep it. */
	readonly requestId: string | null;
	/** Whether the event is of a visitor who is known. */
	readonly joined: boolean;
	/** As it is stored. `cid` is null after an erasure, too. */
	readonly event: {
		readonly tid: string;
		readonly subid: string;
		readonly cid: string | null;
		readonly evt: string;
		readonly rvn: number;
	};
}

/** Not stored. */
export interface MissingReceipt {
	/** Transaction id, as it was asked for. */
	readonly tid: string;
	readonly stored: false;
}

/** Unknown properties are ignored. */
export interface ReceiptsRequest {
	/** Account token of the client. */
	readonly aid: string;
	/** Transaction ids, at most 100. */
	readonly tids: readonly string[];
}

export interface ReceiptsAnswer {
	/** The account. */
	readonly aid: string;
	readonly receipts: readonly (StoredReceipt | MissingReceipt)[];
}

export interface Usage {
	/** Name of the usage plan. */
	readonly plan: string;
	/** Requests a second. */
	readonly ratePerSecond: number;
	/** Requests that may be saved up. */
	readonly burst: number;
	/** Requests in a calendar month, UTC. */
	readonly quotaPerMonth: number;
	/** Requests of this month that were let in. What other servers have let in is told within a fifth of a second. */
	readonly used: number;
	/** What is left of the quota. A crashed server may have taken up to 99 requests with it. */
	readonly remaining: number;
	/** When the quota begins anew. */
	readonly resetsAt: string;
	/** Events that one request may have. */
	readonly maxEvents: number;
	/** Time that a request may take. */
	readonly timeoutMs: number;
}
