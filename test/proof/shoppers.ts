import { readFileSync } from 'node:fs';
import { DatasetBuilder } from '../../src/capabilities/training/rows/dataset.ts';
import { type Example, featureSet } from '../../src/core/scoring/rows/features.ts';
import type { Split } from './split.ts';

const texts = [
	'Month',
	'OperatingSystems',
	'Browser',
	'Region',
	'TrafficType',
	'VisitorType',
	'Weekend',
] as const;

interface Task {
	readonly without: readonly string[];
	/** Whether a session belongs to the test set. All others train. */
	readonly tests: (session: ReadonlyMap<string, string>, row: number) => boolean;
	/**
	 * Whether to use the order of the rows, which is roughly that of the months, as time. The file has no times, and its fixed
	 * split trains and tests on the same months, so without this all rows have the same time.
	 */
	readonly rowOrder: boolean;
}

/** Splits sessions of an online shop (UCI 468) into training and test. */
export function shoppersSplit(file: string, { without, tests, rowOrder }: Task): Split {
	const [header = '', ...lines] = readFileSync(file, 'utf8').trim().split(/\r?\n/);
	const names = header.split(',');
	const numbers = names.slice(0, names.indexOf('Month')).filter((name) => !without.includes(name));
	const features = featureSet(numbers, texts);
	const train = new DatasetBuilder(features);
	const test: Example[] = [];
	for (const [row, line] of lines.entries()) {
		const values = line.split(',');
		const session = new Map(names.map((name, column) => [name, values[column] ?? '']));
		const example: Example = {
			numeric: numbers.map((name) => Number(session.get(name))),
			categorical: texts.map((name) => session.get(name) ?? ''),
			label: session.get('Revenue') === 'TRUE' ? 1 : 0,
			atMs: rowOrder ? row : 0,
		};
		if (tests(session, row)) test.push(example);
		else train.add(example);
	}
	return { train: train.build(), test };
}

/** The fixed split of the data's baselines. */
export function everyTenRows(_: unknown, row: number): boolean {
	return row % 10 >= 7;
}

/** A split that shows how a model copes with drift. */
export function novemberAndDecember(session: ReadonlyMap<string, string>): boolean {
	return session.get('Month') === 'Nov' || session.get('Month') === 'Dec';
}
