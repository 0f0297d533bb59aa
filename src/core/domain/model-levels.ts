/** How the scores of an active model compare with their outcomes, week by week. */
export interface ModelLevels {
	/** Earliest first. */
	readonly weeks: readonly LevelWeek[];
	/** Outcomes up to this moment have been measured; milliseconds since 1970. */
	readonly measuredToMs: number;
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
