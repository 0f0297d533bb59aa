import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Bench, Line, LineResult } from './line.ts';
import { runProgram } from './processes.ts';
import type { ScoringCost, ScoringCostInput } from './scoring-cost.ts';
import { type Row, whole } from './table.ts';

const reads = 20_000;

/** One look-up and one evaluation, without HTTP. */
export const scoreCost: Line = { name: 'score-cost', measure };

async function measure({ options, caskade, progress }: Bench): Promise<LineResult> {
	const rows: Row[] = [];
	for (const count of options.visitorCounts) {
		const { place } = await caskade.populated(count);
		const vidsPath = join(caskade.folder, `vids-${count}.txt`);
		writeFileSync(vidsPath, (await place.sampleVids(reads)).join('\n'));
		const input: ScoringCostInput = { address: place.address, vidsPath, rounds: options.runs };
		const { lookUpUs, scoresUs, goals, model } = await runProgram<ScoringCost>('scoring-cost.ts', input);
		progress(`score-cost, ${whole(count)} visitors: ${lookUpUs.toFixed(2)} µs, ${scoresUs.toFixed(2)} µs`);
		rows.push({
			measure: `CPU of a look-up, ${whole(count)} visitors`,
			caskade: `${lookUpUs.toFixed(2)} µs`,
			ceiling: `${scoresUs.toFixed(2)} µs`,
			of: `the scores of ${goals} goals, model '${model}'`,
			...{ ratio: '', aim: '', result: '' },
		});
	}
	return { rows, notes: [`score-cost: the best of several rounds of ${whole(reads)} visitors.`] };
}
