/** What `uploadAll` has done. */
export interface UploadSummary {
	readonly requests: number;
	readonly stored: number;
	/** Conflicts included. */
	readonly duplicates: number;
	readonly conflicts: number;
	readonly rejected: number;
}

/** What `uploadAll` had done when it failed. Everything that it counts is stored; `left` may be stored or not. */
export interface UnfinishedUpload extends UploadSummary {
	/** Events without an outcome. Null if they came from an iterator, which does not tell how many it has. */
	readonly left: number | null;
}
