import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { keepServedScores } from '../../src/capabilities/training/store/served-scores.ts';
import type { Band } from '../../src/core/domain/goal.ts';
import { saveSpending } from '../../src/kit/reading/spending.ts';
import { attributionModels } from '../../src/kit/reports/attribution-model.ts';
import type { Report } from '../../src/kit/reports/report.ts';
import type { ReportQuery } from '../../src/kit/reports/report-query.ts';
import { add, type Entry, fill, report, sale, vidOf, visit } from '../capabilities/reports/filled.ts';
import { keepJudgedModel } from '../capabilities/reports/judged-model.ts';
import { day0Ms } from '../capabilities/reports/made-up.ts';
import { enginesAboveContract, openAccountOn } from '../core/store/engines.ts';
import { allReports } from '../reports.ts';

const text = readFileSync(join(import.meta.dirname, 'reports-by-hand.md'), 'utf8');
const dayMs = 86_400_000;
const asOf = Date.UTC(2026, 4, 1);

/** How each report of the examples is asked for, besides `--as-of`. */
const asked: Readonly<Record<string, Partial<ReportQuery>>> = {
	summary: { period: { newsletter: 30 } },
	activity: { every: 'month' },
	attribution: { every: 'month', model: ['linear', ...attributionModels] },
	movement: { period: { newsletter: 30 } },
	retention: { period: { newsletter: 30 } },
	renewals: { period: { newsletter: 30 }, by: [] },
	ltv: { period: { newsletter: 30 }, by: [] },
	trials: { period: { newsletter: 30 }, by: [] },
	spend: { model: ['linear'] },
	forecast: { days: 30 },
	threshold: { goal: 'subscription', cost: 100, value: 500 },
};

/** Numbers that say how a report was asked for, or what others are of. */
const notFigures = [
	...[
		'cutLow',
		'cutHigh',
		'profitLowPence',
		'profitHighPence',
		'lowPence',
		'highPence',
		'earlierLowPence',
		'earlierHighPence',
	],
	'lookbackDays',
	'halfLifeDays',
	'months',
	'age',
];

/** The rows of the tables with such a header, below a heading of the second level. */
function tables(heading: string, header: string): string[][] {
	const [, section = ''] = text.split(`\n## ${heading}\n`);
	const lines = (section.split('\n## ')[0] as string).split('\n');
	return lines.flatMap((line, at) => {
		if (line !== header) return [];
		const end = lines.findIndex((each, place) => place > at && !each.startsWith('|'));
		return lines.slice(at + 2, end).map((row) =>
			row
				.split('|')
				.slice(1, -1)
				.map((cell) => cell.trim().replaceAll('`', '')),
		);
	});
}

function dayOf(words: string): number {
	return (Date.parse(`${words} 2026 UTC`) - day0Ms) / dayMs;
}

/** Visits and events, as the documentation tells them below a heading. */
function entries(heading: string): Entry[] {
	let sales = 0;
	return tables(heading, '| | visits | events |').flatMap(([name = '', visits = '', events = '']) => {
		const visitor = name.charCodeAt(0) - 'A'.charCodeAt(0) + 1;
		const came = [...visits.matchAll(/([a-z ]+) (\d+ \w+)(\*?)/g)].map(
			([, channel = '', day = '', isShown]) =>
				visit(visitor, dayOf(day), isShown ? `T-${name}-0` : null, channel.trim()),
		);
		sales = 0;
		const paid = [...events.matchAll(/(−?)(\d+|goodbye) on (\d+ \w+)/g)].map(([, sign, what, day = '']) => {
			const evt = what === 'goodbye' ? what : 'newsletter';
			const pence = evt === 'goodbye' ? 0 : (sign ? -1 : 1) * Number(what);
			return sale(`T-${name}-${sales++}`, name, dayOf(day), pence, evt);
		});
		return [...came, ...paid];
	});
}

/** The object of a report that a row of the documentation names: the report itself, or the row with these values. */
function rowOf(made: Report, name: string): unknown {
	if (name === 'report') return made;
	const values = name.split(', ');
	const all = [...made.rows, ...((made.series ?? []) as object[]), ...((made.steps ?? []) as object[])];
	return all.find((row) => values.every((value) => Object.values(row).flat().map(String).includes(value)));
}

function valueAt(value: unknown, path: string): unknown {
	return path
		.split(/[.[\]]+/)
		.filter((name) => name !== '')
		.reduce((at: unknown, name) => (at as Record<string, unknown> | null)?.[name], value);
}

/** The names of all numbers in a value. Those in a list have the name of the list. */
function namesOf(value: unknown, name = ''): string[] {
	if (typeof value === 'number') return [name];
	if (typeof value !== 'object' || value === null) return [];
	if (Array.isArray(value)) return value.flatMap((each) => namesOf(each, name));
	return Object.entries(value).flatMap(([key, each]) => namesOf(each, key));
}

const figures = '| of | figure | by hand | |';

for (const engine of enginesAboveContract)
	describe(`the reports worked out by hand, on ${engine.name}`, () => {
		const made = new Map<string, Report>();
		let left: Report;
		before(async () => {
			const { store, accountId } = await openAccountOn(engine);
			await add(store, accountId, entries('An example'));
			await store.transact(accountId, () =>
				saveSpending([{ day: '2026-01-05', channel: 'paid search', campaign: '', pence: 2000 }]),
			);
			const told = ([vid, day, band, millionths]: readonly [string, number, Band, number]) => ({
				vid: vidOf(vid.charCodeAt(0) - 'A'.charCodeAt(0) + 1),
				goal: 'subscription',
				atMs: day0Ms + day * dayMs,
				band,
				millionths,
			});
			const served = [
				...[['E', 4, 'low', 100_000] as const, ['F', 5, 'low', 200_000] as const].map(told),
				...[['B', 13, 'medium', 500_000] as const, ['A', 14, 'high', 600_000] as const].map(told),
				told(['A', 15, 'high', 700_000]),
				told(['D', 118, 'low', 50_000]),
			];
			await store.transact(accountId, () => keepServedScores(served));
			await keepJudgedModel(store, accountId);
			// So few are held out that none of these is.
			await store.control.createExperiment(accountId, {
				name: 'offer',
				segment: 'returning',
				rule: 'visitor.visits >= 2',
				goal: 'subscription',
				holdoutPercent: 1e-6,
				fromMs: day0Ms,
				toMs: asOf,
			});
			for (const { kind } of allReports)
				if (kind !== 'trials') made.set(kind, await report(store, accountId, kind, { asOf, ...asked[kind] }));
			// The example of trials has more visitors.
			await add(store, accountId, entries('trials'));
			const other = await fill(store, 'c-a-goodbye-uk', entries('Who left by choice'));
			const said = { cancellationEvt: 'goodbye' };
			left = await report(store, other, 'movement', { asOf, ...asked.movement }, said);
			made.set('trials', await report(store, accountId, 'trials', { asOf, ...asked.trials }));
		});

		for (const { kind } of allReports)
			test(kind, () => {
				const own = made.get(kind) as Report;
				const told = tables(kind, figures);
				for (const [of = '', path = '', , value = ''] of told) {
					const is = valueAt(rowOf(own, of), path);
					assert.equal(String(is), value.replace('−', '-').replaceAll(',', ''), `${kind}, ${of}: ${path}`);
				}
				assert.ok(told.length > 5);
				const known = new Set(told.flatMap(([, path = '']) => path.split(/[.[\]]+/)));
				const missing = new Set(
					namesOf(own).filter((name) => !known.has(name) && !notFigures.includes(name)),
				);
				assert.deepEqual([...missing], [], `figures of ${kind} without an example`);
			});

		test('who left by choice', () => {
			const told = tables('Who left by choice', figures);
			assert.ok(told.length > 5);
			for (const [of = '', path = '', , value = ''] of told)
				assert.equal(String(valueAt(rowOf(left, of), path)), value, `${of}: ${path}`);
		});

		test('what each model credits', () => {
			const { rows } = made.get('attribution') as Report;
			const told = tables('attribution', `| | ${attributionModels.join(' | ')} |`);
			assert.equal(told.length, rows.length);
			for (const [channel = '', ...cells] of told) {
				const row = rows.find((each) => each.channel === channel) as Record<string, unknown>;
				const credited = row.models as Record<string, Record<string, number>>;
				assert.deepEqual(
					cells,
					attributionModels.map(
						(model) => `${credited[model]?.subscriptions} · ${credited[model]?.netPence}`,
					),
					channel,
				);
			}
		});
	});
