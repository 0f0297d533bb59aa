import { readFileSync } from 'node:fs';
import { parse } from 'csv-parse/sync';
import { learnEncoding, prepareNumbers } from '../../src/capabilities/training/fit/encoding.ts';
import { fitLogistic, logOddsOf } from '../../src/capabilities/training/fit/logistic.ts';
import { mean } from '../../src/capabilities/training/fit/measure.ts';
import { qini } from '../../src/capabilities/training/fit/qini.ts';
import { type LiftRows, liftsOf, trainLift } from '../../src/capabilities/training/judge/train-lift.ts';
import {
	type Dataset,
	DatasetBuilder,
	rowsAt,
	valuesAt,
} from '../../src/capabilities/training/rows/dataset.ts';
import { logistic } from '../../src/core/scoring/model/log-odds.ts';
import { featureSet } from '../../src/core/scoring/rows/features.ts';
import { seededRandom } from '../../src/kit/random.ts';
import type { Aim } from './aim.ts';

const numbers = ['recency', 'history', 'mens', 'womens', 'newbie'] as const;
const texts = ['history_segment', 'zip_code', 'channel'] as const;
const features = featureSet(numbers, texts);
const trainingShare = 0.7;
/** How much smaller the mean Qini coefficient of all splits may be than that of the better baseline. */
const tolerance = 0.002;

/** Customers of the MineThatData e-mail challenge (Kevin Hillstrom, 2008) who got one of these e-mails, or none. */
export function customers(file: string, emails: readonly string[]): LiftRows {
	const builder = new DatasetBuilder(features);
	const treated: number[] = [];
	const rows: Record<string, string>[] = parse(readFileSync(file, 'utf8'), { columns: true });
	for (const row of rows) {
		const isTreated = emails.includes(row.segment as string);
		if (!isTreated && row.segment !== 'No E-Mail') continue;
		treated.push(isTreated ? 1 : 0);
		builder.add({
			numeric: numbers.map((name) => Number(row[name])),
			categorical: texts.map((name) => row[name] as string),
			label: row.visit === '1' ? 1 : 0,
			atMs: 0,
		});
	}
	return { dataset: builder.build(), treated: Uint8Array.from(treated) };
}

type Learner = (rows: LiftRows, tested: Dataset, seed: number) => Float64Array;

const ours: Learner = (rows, tested, seed) => liftsOf(trainLift(rows, { seed }).model, tested);

/**
 * What scikit-uplift's `TwoModels` and `ClassTransformation` do with scikit-learn's `LogisticRegression` (C = 1) on
 * standardised numbers and one column for each text.
 */
const baselines: Readonly<Record<string, Learner>> = {
	'two models': ({ dataset, treated }, tested) => {
		const [ofTreated, ofOthers] = [1, 0].map((group) =>
			plainModel(
				rowsAt(dataset, Uint32Array.from([...treated.keys()].filter((row) => treated[row] === group))),
				tested,
			),
		) as [Float64Array, Float64Array];
		return ofTreated.map((probability, row) => probability - (ofOthers[row] as number));
	},
	'class transformation': ({ dataset, treated }, tested) =>
		plainModel(
			{ ...dataset, labels: dataset.labels.map((label, row) => (label === treated[row] ? 1 : 0)) },
			tested,
		),
};

/** The probabilities of the tested rows by plain logistic regression. */
function plainModel(dataset: Dataset, tested: Dataset): Float64Array {
	const [train, test] = [oneHot(dataset), oneHot(tested)];
	const prepared = prepareNumbers(train);
	const { encode } = learnEncoding(train, prepared);
	const { weights } = fitLogistic(encode(train, prepared), 1);
	return logOddsOf(encode(test, prepareNumbers(test)), weights).map(logistic);
}

function oneHot(dataset: Dataset): Dataset {
	const names = dataset.texts.map((ofColumn) => [...ofColumn].sort());
	// The learner compresses numbers by a logarithm, which the baseline does not: this undoes it.
	const plain = dataset.numeric.map((values, column) =>
		values.map((value) => Math.expm1(numbers[column] === 'history' ? value / 500 : value)),
	);
	const flags = dataset.categorical.flatMap((codes, column) =>
		(names[column] as string[]).map((text) => {
			const code = dataset.texts[column]?.indexOf(text);
			return Float32Array.from(codes, (one) => (one === code ? 1 : 0));
		}),
	);
	const columns = featureSet([...numbers, ...names.flat()], []);
	return { ...dataset, features: columns, numeric: [...plain, ...flags], categorical: [], texts: [] };
}

/** The Qini coefficients of each learner on the customers who did not train it, one for each split. */
function coefficients(rows: LiftRows, learner: Learner, splits: number): number[] {
	return Array.from({ length: splits }, (_, split) => {
		const seed = split + 1;
		const random = seededRandom(seed);
		const trains = Array.from({ length: rows.dataset.rows }, () => random() < trainingShare);
		const part = (isTraining: boolean): LiftRows => {
			const places = Uint32Array.from([...trains.keys()].filter((row) => trains[row] === isTraining));
			return { dataset: rowsAt(rows.dataset, places), treated: valuesAt(rows.treated, places) };
		};
		const tested = part(false);
		const lifts = learner(part(true), tested.dataset, seed);
		return qini({ lifts, treated: tested.treated, labels: tested.dataset.labels }).value;
	});
}

/** How much worse lift is ordered than by the better baseline, in the mean of some splits. */
export function* liftAims(file: string, splits = 10): Generator<Aim> {
	for (const emails of [['Womens E-Mail'], ['Womens E-Mail', 'Mens E-Mail']]) {
		const rows = customers(file, emails);
		const means = Object.entries(baselines).map(([name, learner]) => ({
			name,
			value: mean(coefficients(rows, learner, splits)),
		}));
		const better = means.reduce((a, b) => (b.value > a.value ? b : a));
		const value = mean(coefficients(rows, ours, splits));
		const figures = means.map((one) => `${one.name} ${one.value.toFixed(4)}`).join(', ');
		yield {
			name: `Lift of ${emails.join(' or ')}: Qini ${value.toFixed(4)} under ${better.value.toFixed(4)}`,
			values: [better.value - value],
			max: tolerance,
		};
		yield { name: `  (baselines: ${figures})`, values: [0], max: 0, informative: true };
	}
}
