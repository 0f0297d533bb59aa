import { dayMs } from '../../core/durations.ts';

/** A path to a subscription: the labels of its touches as numbers, in order of time. */
export interface LabelledPath {
	readonly labels: readonly number[];
	/** The time from each touch to the conversion. */
	readonly agesMs: readonly number[];
	readonly isDirect: readonly boolean[];
}

/** Models that weight each touch of a path independently of other paths. */
export const pathModels = ['first', 'last', 'last-non-direct', 'linear', 'decay', 'position'] as const;
export type PathModel = (typeof pathModels)[number];

/** Those that credit one touch with all. */
export const oneTouchModels = ['first', 'last', 'last-non-direct'] as const;
export type OneTouchModel = (typeof oneTouchModels)[number];

export const attributionModels = [...pathModels, 'markov'] as const;
export type AttributionModel = (typeof attributionModels)[number];
export const defaultModel: AttributionModel = 'last-non-direct';

/** To what each gives credit, in words. */
export const creditedTo: Readonly<Record<AttributionModel, string>> = {
	first: 'the first touch',
	last: 'the last touch',
	'last-non-direct': 'the last touch that is not direct',
	linear: 'all touches equally',
	decay: 'all touches, later ones more',
	position: 'mostly the first and the last touch',
	markov: 'each by what would be missing without it (Markov)',
};

export const defaultHalfLifeDays = 7;

/** The weights of a path's touches, which add up to 1. An empty path has none. */
export function weightsOf(
	model: PathModel,
	{ labels, agesMs, isDirect }: LabelledPath,
	halfLifeDays: number = defaultHalfLifeDays,
): readonly number[] {
	const touches = labels.length;
	if (touches === 0) return [];
	const all = (place: number) => labels.map((_, touch) => (touch === place ? 1 : 0));
	const one = oneTouchModels.find((each) => each === model);
	if (one) return all(creditedPlace(one, isDirect));
	if (model === 'linear') return labels.map(() => 1 / touches);
	if (model === 'position') return positionWeights(touches);
	// Ages are relative to the last touch, so that the weights of old paths do not underflow.
	const youngestMs = agesMs[touches - 1] as number;
	const powers = agesMs.map((ageMs) => 2 ** (-(ageMs - youngestMs) / (halfLifeDays * dayMs)));
	const sum = powers.reduce((total, power) => total + power, 0);
	return powers.map((power) => power / sum);
}

/** The touch that a model credits with all. */
export function creditedPlace(model: OneTouchModel, isDirect: readonly boolean[]): number {
	if (model === 'first') return 0;
	const last = model === 'last' ? -1 : isDirect.lastIndexOf(false);
	return last < 0 ? isDirect.length - 1 : last;
}

/** 40 % for each end, and the rest for the touches between. */
function positionWeights(touches: number): number[] {
	if (touches <= 2) return Array.from({ length: touches }, () => 1 / touches);
	return Array.from({ length: touches }, (_, touch) =>
		touch === 0 || touch === touches - 1 ? 0.4 : 0.2 / (touches - 2),
	);
}
