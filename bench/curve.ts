import { median, type Row, whole } from './table.ts';

export interface CurvePoint {
	readonly measure: string;
	/** Of the single runs; those of different points alternate. */
	readonly values: readonly number[];
}

/** A row for each point, beside the first of them: the ratio says whether a cost grows. */
export function curveRows(points: readonly CurvePoint[], of: string, unit = ''): Row[] {
	const first = points[0]?.values ?? [];
	return points.map(({ measure, values }) => {
		const single = values.map((value, index) => value / (first[index] as number));
		const range = `${Math.min(...single).toFixed(2)} to ${Math.max(...single).toFixed(2)}`;
		return {
			measure,
			caskade: `${whole(median(values))}${unit}`,
			ceiling: `${whole(median(first))}${unit}`,
			of,
			ratio: `${(median(values) / median(first)).toFixed(2)} (${range})`,
			aim: '',
			result: '',
		};
	});
}
