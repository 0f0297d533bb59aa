import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dayMs } from '../../../src/core/durations.ts';
import type { Report } from '../../../src/kit/reports/report.ts';
import type { ReportQuery } from '../../../src/kit/reports/report-query.ts';
import { reportText, tableOf } from '../../../src/kit/reports/report-table.ts';
import { enginesAboveContract, openAccountOn } from '../../core/store/engines.ts';
import { reportOf } from '../../reports.ts';
import { add, report, sale, visit } from './filled.ts';
import { day0Ms } from './made-up.ts';

for (const engine of enginesAboveContract)
	test(`the subscriptions behind a figure add up to it, on ${engine.name}`, async () => {
		const { store, accountId } = await openAccountOn(engine);
		await add(store, accountId, [
			visit(1, 0, 'T-1', 'email'),
			sale('T-1', 'S-1', 0, 500),
			sale('T-2', 'S-1', 30, 500),
			sale('T-3', 'S-1', 40, -100),
			visit(2, 31, null, 'paid search'),
			visit(2, 32, 'T-4', 'direct'),
			sale('T-4', 'S-2', 32, 700),
			sale('T-5', 'S-3', 45, 300),
		]);
		const made = (kind: string, fields: Partial<ReportQuery>) => report(store, accountId, kind, fields);
		const subids = ({ rows }: Report) => rows.map(({ subid }) => subid);
		const february = { from: '2026-02-01', to: '2026-03-01' };
		for (const fields of [
			{},
			february,
			{ channel: 'email' },
			{ ...february, channel: 'paid search' },
			{ ...february, evt: 'newsletter' },
		]) {
			const own = await made('subscriptions', fields);
			const { totals } = await made('activity', { ...fields, every: 'month' });
			assert.deepEqual(own.totals, totals, JSON.stringify(fields));
			for (const name of ['acquisitionPence', 'renewalPence', 'refundPence', 'netPence'] as const)
				assert.equal(
					own.rows.reduce((sum, row) => sum + Number(row[name]), 0),
					totals?.[name],
					`${name} ${JSON.stringify(fields)}`,
				);
		}
		assert.deepEqual(subids(await made('subscriptions', february)), ['S-3', 'S-2', 'S-1']);
		const having = async (of: ReportQuery['having'], fields: Partial<ReportQuery> = february) =>
			subids(await made('subscriptions', { ...fields, having: of }));
		assert.deepEqual(await having('acquisition'), ['S-3', 'S-2']);
		assert.deepEqual(await having('refund'), ['S-1']);
		assert.deepEqual(await having('renewal'), []);
		const cohort = { from: '2026-01-01', to: '2026-02-01', basis: 'cohort' } as const;
		assert.deepEqual(await having('renewal', cohort), ['S-1']);
		const [row] = (await made('subscriptions', { ...cohort, having: 'renewal' })).rows;
		assert.deepEqual(
			[row?.acquired, row?.channel, row?.touches, row?.renewals, row?.refunds, row?.netPence],
			['2026-01-01', 'email', 1, 1, 1, 900],
		);
		const touched = async (fields: Partial<ReportQuery>) =>
			(await made('subscriptions', fields)).rows.map(({ subid, chosenChannel, channel }) => [
				subid,
				chosenChannel,
				channel,
			]);
		assert.deepEqual(await touched({ channel: 'paid search' }), [['S-2', 'paid search', 'direct']]);
		assert.deepEqual(await touched({ channel: 'paid search', credited: 'last' }), []);
		const credited = { channel: 'paid search', credited: 'last-non-direct' } as const;
		assert.deepEqual(await touched(credited), [['S-2', 'paid search', 'direct']]);
		const shown = reportText(reportOf('subscriptions'), await made('subscriptions', credited));
		assert.match(shown, /credited touch +last touch/);
		assert.doesNotMatch(
			reportText(reportOf('subscriptions'), await made('subscriptions', {})),
			/credited touch|chosen touch/,
		);
	});

for (const engine of enginesAboveContract)
	test(`those that were cancelled or lapsed are those that revenue counts, on ${engine.name}`, async () => {
		const { store, accountId } = await openAccountOn(engine);
		await add(store, accountId, [
			sale('A-1', 'A', 0, 500),
			sale('A-2', 'A', 10, -500),
			sale('B-1', 'B', 0, 700),
			sale('C-1', 'C', 20, 900),
			sale('C-2', 'C', 25, 0, 'goodbye'),
			sale('D-1', 'D', 0, 100),
			...[30, 60, 90, 120].map((day) => sale(`D-${day}`, 'D', day, 100)),
		]);
		const period = { newsletter: 30 };
		const asOf = day0Ms + 125 * dayMs;
		const made = (kind: string, fields: Partial<ReportQuery>) =>
			report(store, accountId, kind, { asOf, period, ...fields }, { cancellationEvt: 'goodbye' });
		const movement = await made('movement', { every: 'month', by: [] });
		const rows = tableOf(reportOf('movement'), movement);
		for (const moved of ['cancelled', 'lapsed', 'ended'] as const) {
			const own = (await made('subscriptions', { moved })).rows;
			const sum = (name: string) => rows.reduce((total, row) => total + Number(row[name]), 0);
			assert.equal(own.length, sum(moved), moved);
			assert.equal(
				own.reduce((total, { movedPence }) => total + Number(movedPence), 0),
				sum(`${moved}Pence`),
			);
			const subids = { cancelled: ['A', 'C'], lapsed: ['B'], ended: ['A', 'B', 'C'] };
			assert.deepEqual(own.map(({ subid }) => subid).sort(), subids[moved]);
		}
	});
