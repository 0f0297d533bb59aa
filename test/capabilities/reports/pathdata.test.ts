import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'csv-parse/sync';
import { type CreditedPath, creditOf } from '../../../src/capabilities/reports/credit.ts';
import type { AttributionModel } from '../../../src/kit/reports/attribution-model.ts';
import { noAmounts } from '../../../src/kit/reports/journey.ts';

const folder = join(import.meta.dirname, '../../../../shared/data');
const file = join(folder, 'channelattribution_pathdata.csv');
const expectedFile = join(folder, 'channelattribution_pathdata_expected.csv');

type Row = Readonly<Record<string, string>>;
const rowsOf = (path: string): Row[] => parse(readFileSync(path), { columns: true });

test('published paths are credited as by an independent implementation', {
	skip: !existsSync(file) && `${file} is missing`,
}, () => {
	const expected = rowsOf(expectedFile);
	const names = expected.map((row) => row[''] as string).sort();
	const rows = rowsOf(file).map((row) => {
		const labels = (row.path as string).split(' > ').map((name) => names.indexOf(name));
		const conversions = Number(row.total_conversions);
		const path: CreditedPath = {
			path: { labels, agesMs: labels.map(() => 0), isDirect: labels.map(() => false) },
			conversions,
			amounts: {
				...noAmounts,
				subscriptions: conversions,
				acquisitionPence: Number(row.total_conversion_value),
			},
		};
		return { path, lost: { labels, visitors: Number(row.total_null) } };
	});
	const paths = rows.map(({ path }) => path);
	const creditBy = (model: AttributionModel, lost = rows.map((row) => row.lost)) =>
		creditOf(model, paths, lost, { labels: names.length });
	const check = (column: string, credit: Float64Array, within: number) => {
		for (const row of expected) {
			const actual = credit[names.indexOf(row[''] as string)] as number;
			assert.ok(Math.abs(actual - Number(row[column])) < within, `${column} of ${row['']}: ${actual}`);
		}
	};
	for (const model of ['first', 'last', 'linear'] as const) {
		const credit = creditBy(model);
		check(model, credit.subscriptions, 1e-6);
		check(`${model}_v`, credit.acquisitionPence, 1e-6);
	}
	check('markov1_null', creditBy('markov').subscriptions, 1e-6);
	check('markov1_nonull', creditBy('markov', []).subscriptions, 1e-6);
});
