import { median, type Row, whole } from './table.ts';

export interface GrowthPoint {
	readonly measure: string;
	/** One value per run. The runs of different points alternate. */
	readonly values: readonly number[];
}

/** One row per point, compared with the first point. The ratio shows whether a cost grows with the amount of data. */
export function growthRows(points: readonly GrowthPoint[], comparedWith: string, unit = ''): Row[] {
	const first = points[0]?.values ?? [];
	return points.map(({ measure, values }) => {
		const single = values.map((value, index) => value / (first[index] as number));
		const range = `${Math.min(...single).toFixed(2)} to ${Math.max(...single).toFixed(2)}`;
		return {
			measure,
			caskade: `${whole(median(values))}${unit}`,
			baseline: `${whole(median(first))}${unit}`,
			comparedWith,
			ratio: `${(median(values) / median(first)).toFixed(2)} (${range})`,
			aim: '',
			result: '',
		};
	});
}
