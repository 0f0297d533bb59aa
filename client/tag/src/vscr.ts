/** Commands, and what each takes. */
export interface Commands {
	/** The account. Required before `fire`. */
	setAccount: string;
	/** The service's address. Default: where the script was loaded from. */
	setServer: string;
	/** The path of hits on that service. Default: `/hit`. */
	setHitPath: string;
	/** Whether hits to another subdomain of the site carry its cookies. The account must name the page's origin. */
	setCredentials: boolean;
	/** The domain of the cookies. Default: the widest that the browser accepts. */
	setCookieDomain: string;
	/** What the page is called until the path changes. After `fire`, another name is another page. */
	setPage: string;
	/** What names a page besides the path, separated by commas: parameters of the query, and `#` for a path in the fragment. */
	setRoutes: string;
	/** Adds an event to the next hit. */
	addEvent: string | HitEvent;
	/** The visitor's id in your own system. */
	addCustomerId: string | number;
	/** The visitor's consent. Only `true` is one. */
	setConsent: boolean;
	/** Sends a hit with the page and the added events. Nothing is sent before. */
	fire: undefined;
	/** Calls back with the visitor's scores. */
	scores: (scores: Score[]) => void;
	/** Calls back with the visitor's segments. */
	segments: (segments: Segment[]) => void;
}

/** The page's interface, first as a command queue and then as the loaded tag. */
export interface Vscr {
	<Name extends keyof Commands>(
		name: Name,
		...value: Commands[Name] extends undefined ? [] : [Commands[Name]]
	): void;
	/** Commands queued before the tag was loaded. */
	q?: ArrayLike<unknown>[];
	/** Only once the tag has been loaded. */
	scores?(): Promise<Score[]>;
	/** Only once the tag has been loaded. */
	segments?(): Promise<Segment[]>;
}

export interface Score {
	readonly goal: string;
	readonly score: number;
	readonly percentile: number;
	readonly band: 'low' | 'medium' | 'high';
	readonly model: string;
}

export interface Segment {
	readonly id: string;
	readonly name: string;
}

export interface HitEvent {
	readonly name: string;
	/** Transaction id of a sale that starts here, as the back end will upload it. */
	readonly tid?: string | number | undefined;
	/** Revenue, an integer in the smallest unit of the currency. */
	readonly rvn?: number | undefined;
	/** ISO 4217. */
	readonly currency?: string | undefined;
}

declare global {
	interface Window {
		vscr?: Vscr;
	}
}
