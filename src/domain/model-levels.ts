/** How the level of a model that scores has followed what came. */
export interface ModelLevels {
	/** Added to the log-odds of a score, by recency; the last one holds. The earliest first. */
	readonly shifts: readonly LevelShift[];
	/** What was said, as served, and what came; the earliest first. */
	readonly weeks: readonly LevelWeek[];
	/** Up to when outcomes have been looked at, in milliseconds since 1970. */
	readonly measuredToMs: number;
}

export interface LevelShift {
	readonly sinceMs: number;
	readonly byRecency: readonly number[];
}

export interface LevelWeek {
	readonly fromMs: number;
	readonly toMs: number;
	readonly visitors: number;
	/** The mean score. */
	readonly said: number;
	/** The rate. */
	readonly came: number;
	/** Whether what came is farther from what was said than chance explains, 95 times in 100. */
	readonly isOutside: boolean;
}
