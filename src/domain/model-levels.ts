/** How the outcomes of an active model's scores have corrected its level. */
export interface ModelLevels {
	/** Added to the log-odds of a score, by recency; the last one applies. Earliest first. */
	readonly shifts: readonly LevelShift[];
	/** Mean scores as served, and rates; earliest first. */
	readonly weeks: readonly LevelWeek[];
	/** Outcomes up to this moment have been measured; milliseconds since 1970. */
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
	readonly predicted: number;
	readonly observed: number;
	/** Whether the rate is outside the 95 % interval around the mean score. */
	readonly isOutside: boolean;
}
