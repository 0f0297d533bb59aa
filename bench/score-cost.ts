import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BenchContext, Benchmark, BenchmarkResult } from './benchmark.ts';
import { runProgram } from './processes.ts';
import type { ScoringCost, ScoringCostInput } from './score-cost-program.ts';
import { type Row, whole } from './table.ts';

const reads = 20_000;

/** CPU time of looking up a visitor and of computing the scores, without HTTP. */
export const scoreCost: Benchmark = { name: 'score-cost', measure };

async function measure({ options, caskade, progress }: BenchContext): Promise<BenchmarkResult> {
	const rows: Row[] = [];
	for (const count of options.visitorCounts) {
		const { database } = await caskade.populated(count);
		const vidsPath = join(caskade.folder, `vids-${count}.txt`);
		writeFileSync(vidsPath, (await database.sampleVids(reads)).join('\n'));
		const input: ScoringCostInput = { address: database.address, vidsPath, rounds: options.runs };
		const { lookUpUs, scoresUs, goals, model } = await runProgram<ScoringCost>(
			'score-cost-program.ts',
			input,
		);
		progress(`score-cost, ${whole(count)} visitors: ${lookUpUs.toFixed(2)} µs, ${scoresUs.toFixed(2)} µs`);
		rows.push({
			measure: `CPU of a look-up, ${whole(count)} visitors`,
			caskade: `${lookUpUs.toFixed(2)} µs`,
			baseline: `${scoresUs.toFixed(2)} µs`,
			comparedWith: `the scores of ${goals} goals, model '${model}'`,
			ratio: '',
			aim: '',
			result: '',
		});
	}
	return { rows, notes: [`score-cost: the fastest of several rounds of ${whole(reads)} visitors.`] };
}
