/** What the service answers to a hit, as far as the tag reads it. */
export interface HitAnswer {
	readonly vid: string;
	readonly sid: string;
	readonly cask: string;
	/** Who this browser was first, where its visitor is another customer's now. */
	readonly firstVid?: string;
	/** The answer has set the cookies. */
	readonly hasCookies?: boolean;
	/** What of the hit was not stored, and why. */
	readonly ignored?: string;
}
