/**
 * `node bench/training.ts [ROWS] [FEATURES] [INTERACTION]` trains a model on rows generated from a fixed seed. Prints the
 * time, the peak memory of the process, and the time of computing a score. INTERACTION is in log-odds; with 0, boosting has
 * nothing to gain and the logistic model is chosen.
 */

import { train } from '../src/capabilities/training/judge/train.ts';
import { choiceSentences } from '../src/capabilities/training/pages/report-text.ts';
import { DatasetBuilder } from '../src/capabilities/training/rows/dataset.ts';
import { logistic } from '../src/core/scoring/model/log-odds.ts';
import { Scorer } from '../src/core/scoring/model/scorer.ts';
import { type FeatureRow, featureSet } from '../src/core/scoring/rows/features.ts';
import { seededRandom } from '../src/kit/random.ts';

const rows = Number(process.argv[2] ?? 1_000_000);
const columns = Number(process.argv[3] ?? 30);
const interactionLogOdds = Number(process.argv[4] ?? 1.2);
const textColumns = Math.floor(columns / 5);
const random = seededRandom(1);

/** Numbers have long tails, many zeros and some missing values. Texts have a few common and many rare values. */
function nextRow(): { numeric: number[]; categorical: string[] } {
	const count = () => (random() < 0.5 ? 0 : Math.floor(random() ** -1.2));
	return {
		numeric: Array.from({ length: columns - textColumns }, (_, column) =>
			column % 7 === 6 && random() < 0.3 ? Number.NaN : column % 2 === 0 ? count() : -Math.log(random()) * 10,
		),
		categorical: Array.from(
			{ length: textColumns },
			(_, column) => `t${Math.floor(random() ** 3 * 10 ** (1 + (column % 4)))}`,
		),
	};
}

function outcome({ numeric, categorical }: FeatureRow): 0 | 1 {
	const [visits = 0, days = 0] = [numeric[0], numeric[1]];
	const interaction = (numeric[2] as number) > 2 && days < 5 ? interactionLogOdds : 0;
	const logOdds =
		-4 + 0.6 * Math.log1p(visits) - 0.03 * days + interaction + (categorical[0] === 't0' ? 0.8 : 0);
	return random() < logistic(logOdds) ? 1 : 0;
}

const seconds = (fromMs: number) => ((performance.now() - fromMs) / 1000).toFixed(1);
const print = (text: string) => process.stdout.write(`${text}\n`);

let startedAtMs = performance.now();
const names = Array.from({ length: columns }, (_, column) => `feature ${column}`);
const builder = new DatasetBuilder(
	featureSet(names.slice(0, columns - textColumns), names.slice(columns - textColumns)),
);
for (let row = 0; row < rows; row++) {
	const values = nextRow();
	builder.add({ ...values, label: outcome(values), atMs: row * 1000 });
}
const dataset = builder.build();
print(`${rows} rows × ${columns} features, made in ${seconds(startedAtMs)} s`);

startedAtMs = performance.now();
const { model, report } = train(dataset, { seed: 1 });
const peakMb = process.resourceUsage().maxRSS / 1024;
print(`trained in ${seconds(startedAtMs)} s, ${peakMb.toFixed(0)} MB at most, including the rows`);
print(
	`${report.kind}: AUC ${report.later?.auc.value.toFixed(3)}, log loss ${report.later?.logLoss.toFixed(4)}`,
);
for (const text of choiceSentences(report)) print(text);

const scorer = new Scorer(model);
const sample = Array.from({ length: 1000 }, nextRow);
const reads = 200_000;
for (const row of sample) scorer.score(row);
startedAtMs = performance.now();
for (let read = 0; read < reads; read++) scorer.score(sample[read % sample.length] as FeatureRow);
print(`a score costs ${(((performance.now() - startedAtMs) * 1000) / reads).toFixed(2)} µs`);
startedAtMs = performance.now();
for (const row of sample) scorer.contributions(row);
print(`its contributions cost ${(((performance.now() - startedAtMs) * 1000) / sample.length).toFixed(0)} µs`);
print(`the model is ${(JSON.stringify(model).length / 1024).toFixed(0)} kB of JSON`);
