import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const folder = join(import.meta.dirname, '../../../../shared/data');
export const cdnowSample = join(folder, 'CDNOW_sample.txt');
export const cdnowMaster = join(folder, 'CDNOW_master.txt');
/** The end of the last month: purchases end in June 1998. */
export const cdnowEnd = '1998-07-01T00:00:00Z';

/** The purchases as subscription events at noon, with the customer as `subid`. */
export function cdnowEvents(file: string): { at: string; tid: string; subid: string; rvn: number }[] {
	return linesOf(file).map((line, number) => {
		const words = line.trim().split(/ +/);
		const [day = '', , dollars] = words.slice(-3);
		return {
			at: `${day.slice(0, 4)}-${day.slice(4, 6)}-${day.slice(6)}T12:00:00Z`,
			tid: `purchase-${number}`,
			subid: words[0] as string,
			rvn: Math.round(Number(dollars) * 100),
		};
	});
}

function linesOf(file: string): string[] {
	return readFileSync(file, 'utf8')
		.split('\n')
		.filter((line) => /^\s*\d/.test(line));
}

/** Compares `report ltv --by none` with the output of an awk script over the raw file. */
export function assertAsAwkSays(file: string, rows: readonly Readonly<Record<string, unknown>>[]): number {
	const script = join(import.meta.dirname, 'cohorts.awk');
	const { stdout, status, stderr } = spawnSync('awk', ['-f', script, file], { encoding: 'utf8' });
	assert.equal(status, 0, stderr + stdout);
	const reported = rows.flatMap(({ month, subscriptions, cumulativePence }) =>
		(cumulativePence as (number | null)[]).flatMap((pence, age) =>
			pence === null ? [] : [`${month} ${age} ${subscriptions} ${pence}`],
		),
	);
	assert.deepEqual(reported, stdout.trimEnd().split('\n'));
	return reported.length;
}
