import assert from 'node:assert/strict';
import { test } from 'node:test';
import { goalDefaults } from '../../src/domain/goal.ts';
import { dayMs, minuteMs } from '../../src/durations.ts';
import { accountRows } from '../../src/scoring/rows/account-rows.ts';
import { seededRandom } from '../../src/scoring/rows/random.ts';
import { type PlainVisitor, readerOf } from '../proof/plain-visitors.ts';

const startMs = Date.UTC(2026, 0, 5);
const goal = { ...goalDefaults, name: 'sale', evts: ['sale'] };

/** Visitors of 90 days, eight on each. Some hits carry an event by day and visitor. */
function visitors(eventsOn: (day: number, number: number) => readonly string[]): PlainVisitor[] {
	const random = seededRandom(4);
	return Array.from({ length: 720 }, (_, number) => {
		const day = Math.floor(number / 8);
		const atMs = startMs + day * dayMs + Math.floor(random() * (dayMs - minuteMs));
		return {
			hits: [
				{ atMs, visit: 0, page: '/' },
				{ atMs: atMs + minuteMs, visit: 0, events: eventsOn(day, number) },
			],
			sales: number % 3 === 0 ? [{ atMs: atMs + 2 * minuteMs, evt: 'sale', pence: 999 }] : [],
		};
	});
}

async function rowsOf(eventsOn: (day: number, number: number) => readonly string[]) {
	const { rows, stopped } = await accountRows(readerOf(visitors(eventsOn)), {
		...{ goals: [goal], asOfMs: startMs + 90 * dayMs, seed: 1 },
		onProgress: () => {},
	});
	const features = rows[0]?.dataset.features.numeric.map(({ name }) => name) ?? [];
	return { features: features.filter((name) => name.startsWith('event:')), stopped };
}

test('an event that a site no longer sends is named, and is no feature', async () => {
	const { features, stopped } = await rowsOf((day, number) => [
		...(day < 60 && number % 3 === 0 ? ['begin'] : []),
		...(number % 4 === 0 ? ['play'] : []),
	]);
	assert.deepEqual(features, ['event:play']);
	assert.deepEqual(stopped, [{ kind: 'event', name: 'begin', lastDay: '2026-03-05' }]);
});

test('an event that is rare, seasonal, or was just away for some days is still relied on', async () => {
	const { features, stopped } = await rowsOf((day, number) => [
		...(day % 28 === 2 ? ['newsletter'] : []),
		...(day < 82 ? ['play'] : []),
		...(day === 40 || day === 60 || day === 75 ? ['sale page'] : []),
		...(number % 8 === 0 && day % 7 === 0 ? ['weekly'] : []),
	]);
	assert.deepEqual(stopped, []);
	assert.deepEqual(features.sort(), ['event:newsletter', 'event:play', 'event:sale page', 'event:weekly']);
});
