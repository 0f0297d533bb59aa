import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { acquiredIn } from '../../../src/kit/reports/journey.ts';
import { stepFlowDrawing } from '../../../src/kit/reports/report-flow.ts';
import { sizeOf, stepFlows, stepNodes } from '../../../src/kit/reports/step-flow.ts';
import {
	allTime,
	journey,
	lostPaths,
	madeUpJourneys,
	madeUpLost,
	touch,
} from '../../capabilities/reports/made-up.ts';

const path = (...channels: string[]) => channels.map((channel, day) => touch(channel, day));
const bought = (number: number, ...channels: string[]) =>
	journey(`S-${number}`, [[9, 100]], path(...channels));

test('paths flow from step to step, and to their ends, with those who did not subscribe', () => {
	const journeys = [
		bought(1, 'email', 'email', 'direct'),
		bought(2, 'email', 'direct'),
		bought(3, 'email'),
		bought(4),
	];
	const lost = lostPaths([
		{ labels: ['email', 'direct'], visitors: 3 },
		{ labels: ['social'], visitors: 2 },
	]);
	const { flows, notes } = stepFlows(journeys, lost, ['channel']);
	assert.deepEqual(
		flows.map(({ step, from, to, ...paths }) => `${step} ${from} > ${to}: ${Object.values(paths)}`),
		[
			'1 email > direct: 2,3',
			'1 social > (lost): 0,2',
			'1 (none) > (conversion): 1,0',
			'1 email > (conversion): 1,0',
			'2 direct > (lost): 0,3',
			'2 direct > (conversion): 2,0',
		],
	);
	assert.deepEqual(notes, []);
	assert.deepEqual(
		stepNodes(flows).map((node) => Object.values(node).join(' ')),
		['1 email 6 1 0 5', '1 social 2 0 2 0', '1 (none) 1 1 0 0', '2 direct 5 2 3 0'],
	);
	const drawn = `${stepFlowDrawing(flows, 'Paths by steps')}`;
	for (const text of ['>step 1<', '>step 2<', '>email 6<', '>(lost) 3<', '>(conversion) 2<'])
		assert.ok(drawn.includes(text), text);
	assert.match(drawn, /step 1, email → direct: 5, 2 of subscriptions/);
});

test('a step has at most twelve rows, a picture five steps, and what is left out is told', () => {
	const many = Array.from({ length: 15 }, (_, number) => bought(number, `channel ${number}`));
	const long = bought(99, 'a', 'b', 'a', 'b', 'a', 'b', 'a');
	const { flows, notes } = stepFlows([...many, long], lostPaths([{ labels: ['a'], visitors: 4 }]), [
		'channel',
	]);
	const first = stepNodes(flows).filter(({ step }) => step === 1);
	assert.equal(first.length, 12);
	const most = first.slice(0, 2).map(({ name, paths }) => `${name} ${paths}`);
	assert.deepEqual(most.sort(), ['(other) 5', 'a 5']);
	assert.deepEqual(notes, [
		'Step 1 has 11 rows of 16; (other) has the rest, 5 paths.',
		'1 path has more than 5 steps, 1 of them to a subscription. The rest of their steps is left out.',
	]);
	assert.ok(flows.some(({ step, from, to }) => step === 5 && from === 'a' && to === '(more steps)'));
});

test('nobody is lost on the way: what comes to a row goes on from it', () => {
	fc.assert(
		fc.property(madeUpJourneys, madeUpLost, (journeys, lost) => {
			const acquired = acquiredIn(journeys, allTime);
			const { flows } = stepFlows(acquired, lost, ['channel']);
			const sum = (some: typeof flows) => some.reduce((all, flow) => all + sizeOf(flow), 0);
			assert.equal(sum(flows.filter(({ step }) => step === 1)), acquired.length + lost.visitors);
			for (const { step, name, paths } of stepNodes(flows))
				if (step > 1)
					assert.equal(sum(flows.filter((flow) => flow.step === step - 1 && flow.to === name)), paths);
			const ends = flows.filter(({ to }) => /^\((conversion|lost|more steps)\)$/.test(to));
			assert.equal(sum(ends), acquired.length + lost.visitors);
		}),
	);
});
