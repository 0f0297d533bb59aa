/** The page's interface, first as a command queue and then as the loaded tag. */
export interface Vscr {
	(...command: unknown[]): void;
	/** Commands queued before the tag was loaded. */
	q?: ArrayLike<unknown>[];
	scores?(): Promise<Score[]>;
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
	readonly tid?: string | undefined;
	readonly rvn?: number | undefined;
	readonly currency?: string | undefined;
}

export interface HitAnswer {
	readonly vid: string;
	readonly sid: string;
	readonly cask: string;
	/** Who this browser was first, where its visitor is another customer's now. */
	readonly firstVid?: string;
	/** The answer has set the cookies. */
	readonly hasCookies?: boolean;
}

declare global {
	interface Window {
		vscr?: Vscr;
		doNotTrack?: string;
	}
	interface Document {
		readonly prerendering?: boolean;
	}
	interface Navigator {
		readonly globalPrivacyControl?: boolean;
	}
}
