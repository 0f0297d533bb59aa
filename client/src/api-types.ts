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
	/** When the event happened: ISO 8601 with a zone, at most 400 days ago. Null or empty: when it arrives. */
	readonly at?: string | '' | null | undefined;
}

/** Subscription events of one account. Unknown properties are ignored. */
export interface UploadRequest {
	/** Account token of the client. */
	readonly aid: string;
	/** At most 30 subscription events, unless the key's usage plan says otherwise. */
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
	/** Transaction id, as in the request. */
	readonly tid: string;
	readonly stored: true;
	/** When the event arrived. */
	readonly receivedAt: string;
	/** The `x-request-id` of the answer that acknowledged the event. Null if it was imported, or stored by a version that did not record it. */
	readonly requestId: string | null;
	/** Whether the event is joined to a visitor. */
	readonly joined: boolean;
	/** The stored event. `cid` is null after an erasure, too. */
	readonly event: {
		readonly tid: string;
		readonly subid: string;
		readonly cid: string | null;
		readonly evt: string;
		readonly rvn: number;
		/** When it happened, if it was uploaded with a time. */
		readonly at?: string | undefined;
	};
}

/** Not stored. */
export interface MissingReceipt {
	/** Transaction id, as in the request. */
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
	/** Requests per second. */
	readonly ratePerSecond: number;
	/** Requests that may be sent at once. */
	readonly burst: number;
	/** Requests per calendar month, UTC. */
	readonly quotaPerMonth: number;
	/** Requests of this month that were admitted. Those of other servers are included within a fifth of a second. */
	readonly used: number;
	/** Requests that crashed servers had reserved, up to 99 a crash. They cannot be used any more, and some of them may have been. */
	readonly forfeited: number;
	/** The rest of the quota: `quotaPerMonth` less `used` and `forfeited`. */
	readonly remaining: number;
	/** When the quota is reset. */
	readonly resetsAt: string;
	/** Maximum number of events in a request. */
	readonly maxEvents: number;
	/** Time limit of a request. */
	readonly timeoutMs: number;
	/** What amounts are in the minor unit of, of the account that the request names. */
	readonly currency?: string | undefined;
	/** Decimals of that unit: 2 for GBP, 0 for JPY. */
	readonly decimals?: number | undefined;
}

/** The parameters of all reports. Each report refuses those that it does not use. */
export interface ReportQuery {
	/** Account token of the client. */
	readonly aid: string;
	/** A past time in UTC, such as 2026-11-21 or 2026-11-21T10:30:00Z. Nothing later is used. */
	readonly asOf?: string | undefined;
	/** Time zone of days and months, such as Europe/London. Default: the account's. */
	readonly timezone?: string | undefined;
	/** Only subscriptions whose first event has this event type; refunds count only if there is nothing else. */
	readonly evt?: string | undefined;
	/** Days from one renewal to the next, such as newsletter=30,gift=365. Default: the account's, else each subscription's own. */
	readonly period?: string | undefined;
	/** The first day, in the report's time zone, such as 2026-01-31. */
	readonly from?: string | undefined;
	/** The day after the last one. */
	readonly to?: string | undefined;
	/** Also the same report for an earlier period, as it was known then: `previous`, the one just before, or `year`, 52 weeks earlier, so that weekdays match. Calendar months are compared with calendar months. */
	readonly compare?: string | undefined;
	/** A row for each day, week, month. Default: month in movement, the whole period in attribution and trials. */
	readonly every?: string | undefined;
	/** Only subscriptions with a touch of this channel in their path. */
	readonly channel?: string | undefined;
	/** Only subscriptions with a touch of this source in their path. */
	readonly source?: string | undefined;
	/** Only subscriptions with a touch of this medium in their path. */
	readonly medium?: string | undefined;
	/** Only subscriptions with a touch of this campaign in their path. */
	readonly campaign?: string | undefined;
	/** Only subscriptions with a touch of this landing page in their path. */
	readonly landing?: string | undefined;
	/** Only subscriptions whose visitor is in this segment, by its id. */
	readonly segment?: string | undefined;
	/** `gateways` also counts mail gateways, which are otherwise left out. */
	readonly include?: string | undefined;
	/** One or two of channel, source, medium, campaign, landing, separated by a comma, or none. Reports on renewals also take evt and price. Default: channel; none in movement and retention. */
	readonly by?: string | undefined;
	/** How many days before conversion a touch may be credited. Default: 90. */
	readonly lookbackDays?: string | undefined;
	/** Some of first, last, last-non-direct, linear, decay, position, markov, separated by commas, or all. Default: last-non-direct. */
	readonly model?: string | undefined;
	/** Half-life of the model decay, in days. Default: 7. */
	readonly halfLifeDays?: string | undefined;
	/** `event` counts what happened in the period, `cohort` all events of the subscriptions that began in it. Default: event. */
	readonly basis?: string | undefined;
	/** `0` to leave out the intervals of the model markov, which take most of the time. */
	readonly intervals?: string | undefined;
	/** Number of paths, or pages, to show. Default: 20. */
	readonly top?: string | undefined;
	/** How many days to look ahead. Default: 90 in forecast, 7 in funnel. */
	readonly days?: string | undefined;
	/** Number of months after the acquisition to show. Default: 24. */
	readonly months?: string | undefined;
	/** Only subscriptions with such an event in the period: trial, acquisition, renewal, refund or cancellation. */
	readonly having?: string | undefined;
	/** Only subscriptions for which this model credits a touch with the chosen properties: first, last or last-non-direct. */
	readonly credited?: string | undefined;
	/** Only subscriptions that changed in this way in the period: new, reactivated, expansion, contraction, or ended (or only some of these: cancelled, lapsed); or `at-risk`, those at risk now. */
	readonly moved?: string | undefined;
	/** Only this goal. Default: all goals. */
	readonly goal?: string | undefined;
	/** What it costs to treat one visitor, in pence, or the minor unit of the account's currency. Default: 1. */
	readonly cost?: string | undefined;
	/** What it is worth if a treated visitor reaches the goal, in pence, or the minor unit of the account's currency. Default: 100. */
	readonly value?: string | undefined;
	/** The experiment. Default: the newest. */
	readonly experiment?: string | undefined;
}

export interface Report {
	/** The account. */
	readonly aid: string;
	readonly from: string | null;
	readonly to: string | null;
	/** The moment of the report. */
	readonly asOf: string;
	/** Time zone of days and months. */
	readonly timezone: string;
	/** What amounts are in the minor unit of. */
	readonly currency: string;
	/** What the report says, in a sentence or two. Its words may change with any version. */
	readonly answer?: string | null | undefined;
	/** One object per row. */
	readonly rows: readonly Readonly<Record<string, unknown>>[];
}

// biome-ignore format: generated in one line
export const reportKinds = ['summary', 'activity', 'attribution', 'paths', 'funnel', 'trials', 'movement', 'retention', 'renewals', 'ltv', 'coverage', 'hosts', 'spend', 'forecast', 'subscriptions', 'promises', 'threshold', 'lift'] as const;

/** Reports of an account, by kind. */
export interface ReportsBy<Options> {
	/** Paying subscriptions and recurring revenue, today and a week ago. @throws CaskadeError */
	readonly summary: (aid: string, options?: Options) => Promise<Report>;
	/** What came in, by day, week or month. @throws CaskadeError */
	readonly activity: (aid: string, options?: Options) => Promise<Report>;
	/** What each channel is credited with. @throws CaskadeError */
	readonly attribution: (aid: string, options?: Options) => Promise<Report>;
	/** The paths to subscriptions, and how long they took. @throws CaskadeError */
	readonly paths: (aid: string, options?: Options) => Promise<Report>;
	/** How many who saw a page began to buy, and paid. @throws CaskadeError */
	readonly funnel: (aid: string, options?: Options) => Promise<Report>;
	/** Who tries, and who pays afterwards. @throws CaskadeError */
	readonly trials: (aid: string, options?: Options) => Promise<Report>;
	/** How subscriptions and recurring revenue grow and shrink. @throws CaskadeError */
	readonly movement: (aid: string, options?: Options) => Promise<Report>;
	/** Who stays, by month of the first payment and age. @throws CaskadeError */
	readonly retention: (aid: string, options?: Options) => Promise<Report>;
	/** Who renews, and who is refunded. @throws CaskadeError */
	readonly renewals: (aid: string, options?: Options) => Promise<Report>;
	/** What subscriptions earn, by month of the first payment. @throws CaskadeError */
	readonly ltv: (aid: string, options?: Options) => Promise<Report>;
	/** How many events are matched to a visitor. @throws CaskadeError */
	readonly coverage: (aid: string, options?: Options) => Promise<Report>;
	/** What begins on each host, and who is lost between hosts. @throws CaskadeError */
	readonly hosts: (aid: string, options?: Options) => Promise<Report>;
	/** What subscriptions have cost. @throws CaskadeError */
	readonly spend: (aid: string, options?: Options) => Promise<Report>;
	/** What the next days will bring, and how the last forecast fared. @throws CaskadeError */
	readonly forecast: (aid: string, options?: Options) => Promise<Report>;
	/** The subscriptions behind the figures of other reports. @throws CaskadeError */
	readonly subscriptions: (aid: string, options?: Options) => Promise<Report>;
	/** What scores predicted, and what was observed. @throws CaskadeError */
	readonly promises: (aid: string, options?: Options) => Promise<Report>;
	/** The score from which treating a visitor pays off. @throws CaskadeError */
	readonly threshold: (aid: string, options?: Options) => Promise<Report>;
	/** What serving a segment earned in an experiment, and how sure that is. @throws CaskadeError */
	readonly lift: (aid: string, options?: Options) => Promise<Report>;
}
