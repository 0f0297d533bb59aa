import assert from 'node:assert/strict';
import { test } from 'node:test';
import { measureBaseRates } from '../../../../src/capabilities/training/serve/base-rate.ts';
import { type Goal, goalDefaults } from '../../../../src/core/domain/goal.ts';
import { dayMs, hourMs } from '../../../../src/core/durations.ts';
import { startMs } from '../../../core/domain/log.ts';
import { type PlainVisitor, readerOf } from '../../../proof/plain-visitors.ts';

const goal: Goal = { name: 'sale', evts: ['sale'], ...goalDefaults, counts: 'any' };

test('the rate after hits is that of hits, trusted as far as there are visitors', async () => {
	const others = Array.from({ length: 9 }, (_, number): PlainVisitor => {
		return { hits: [{ atMs: startMs + number * hourMs, visit: 0 }] };
	});
	const often: PlainVisitor = {
		hits: Array.from({ length: 27 }, (_, visit) => ({ atMs: startMs + visit * hourMs, visit })),
		sales: [{ atMs: startMs + 2 * dayMs, evt: 'sale', pence: 999 }],
	};
	const nowMs = startMs + (goal.horizonDays + 2) * dayMs;
	const goesOn: PlainVisitor = { hits: [{ atMs: nowMs - hourMs, visit: 0 }] };
	const rates = await measureBaseRates(readerOf([...others, often, goesOn]), [goal], nowMs);
	const [present = 0, ...absent] = rates.get(goal.name)?.byRecency ?? [];
	// Of ten visitors, 27 of 36 hits led to a sale: 7.5 with ten visitors of the rate of all.
	const [share, visitors] = [27 / 36, 10];
	const all = (present * (visitors + 10) - share * visitors) / 10;
	assert.ok(all > 0.05 && all < 0.5, `all ${all}, present ${present}`);
	assert.ok(absent.every((rate) => rate < present));
});
