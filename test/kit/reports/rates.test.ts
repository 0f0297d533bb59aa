import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reportCsv, reportText } from '../../../src/kit/reports/report-table.ts';
import { fill, report, sale, visit } from '../../capabilities/reports/filled.ts';
import { enginesAboveContract, openFor } from '../../core/store/engines.ts';
import { reportOf } from '../../reports.ts';

const sentence = /A conversion rate above 100 % means more subscriptions than people who arrived/;

for (const engine of enginesAboveContract)
	test(`a rate above 100 % never stands without a word, on ${engine.name}`, async (t) => {
		const store = await openFor(t, await engine.installedAddress(t));
		// One visitor, who subscribes twice in February.
		const id = await fill(store, 'c-a-acme-uk', [
			...[visit(1, 1, null), visit(1, 33, 'A')],
			...[sale('A', 'S', 34, 500), sale('B', 'S-2', 35, 500), visit(1, 34.5, 'B')],
			...[visit(2, 60, 'C'), sale('C', 'S-3', 60.5, 500)],
		]);
		const definition = reportOf('attribution');
		const february = { from: '2026-02-01', to: '2026-03-01', model: ['last'] } as const;
		for (const asked of [february, { ...february, every: 'month' }] as const) {
			const made = await report(store, id, 'attribution', asked);
			assert.equal(made.warnings?.filter((warning) => sentence.test(warning)).length, 1);
			assert.match(reportText(definition, made), sentence);
			assert.match(reportCsv(definition, made), sentence);
		}
		const march = { from: '2026-03-01', to: '2026-03-15', model: ['last'] } as const;
		const alone = await report(store, id, 'attribution', march);
		assert.doesNotMatch(reportText(definition, alone) + reportCsv(definition, alone), sentence);
		const compared = await report(store, id, 'attribution', {
			...march,
			from: '2026-03-01',
			to: '2026-03-27',
			compare: 'previous',
		});
		assert.match(reportText(definition, compared), sentence);
		assert.match(reportCsv(definition, compared), sentence);
	});
