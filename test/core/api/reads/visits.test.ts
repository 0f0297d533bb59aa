import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { dayMs } from '../../../../src/core/durations.ts';
import { event, type ServedAccount, startService } from '../../../support.ts';

const noonMs = Date.UTC(2026, 10, 21, 12);

/** A visitor who came twice, a day apart, and bought; with a cask of each visit and one of the visitor. */
async function startWithVisits(t: TestContext) {
	const clock = { nowMs: noonMs };
	const service = await startService(t, { now: () => clock.nowMs });
	const { hit, aid, upload } = service;
	const first = await hit({}, {}, '?scope=sid');
	clock.nowMs += dayMs / 2;
	const { vid } = first;
	const events = [{ name: 'checkout', tid: 'order-1' }];
	const second = await hit({ vid, events }, {}, '?scope=sid');
	const whole = await hit({ vid, sid: second.sid });
	const answer = await upload({ aid, data: [event({ tid: 'order-1' })] });
	assert.equal(answer.status, 201);
	return { service, first, second, whole };
}

async function segments({ url }: ServedAccount, path: string, cask: string): Promise<unknown> {
	const answer = await fetch(`${url}${path}?cask=${cask}`);
	assert.equal(answer.status, 200);
	return answer.json();
}

const [newVisitors, returning, subscribers] = [
	{ id: 'new', name: 'New visitors' },
	{ id: 'returning', name: 'Returning visitors' },
	{ id: 'subscriber', name: 'Subscribers' },
];

test('the cask of a visit reads the segments of that visit only, under both paths', async (t) => {
	const { service, first, second, whole } = await startWithVisits(t);
	const evaluatedAt = '2026-11-22T00:00:00.000Z';
	for (const path of ['/visscores/segments', '/segments']) {
		assert.deepEqual(await segments(service, path, whole.cask), {
			aid: service.aid,
			vid: whole.vid,
			segments: [returning, subscribers],
			evaluatedAt,
			expiresAt: '2026-11-23T00:00:00.000Z',
		});
		// The first visit knows neither the return nor the purchase.
		assert.deepEqual(await segments(service, path, first.cask), {
			aid: service.aid,
			sid: first.sid,
			segments: [newVisitors],
			evaluatedAt,
			expiresAt: '2026-11-22T12:00:00.000Z',
		});
		assert.deepEqual(await segments(service, path, second.cask), {
			aid: service.aid,
			sid: second.sid,
			segments: [newVisitors],
			evaluatedAt,
			expiresAt: '2026-11-23T00:00:00.000Z',
		});
	}
});

test('the cask of a visit reads neither the visitor nor another visit, whatever the query names', async (t) => {
	const { service, first, second } = await startWithVisits(t);
	for (const path of ['/visscores', '/visscores/segments', '/segments'])
		for (const more of [`vid=${first.vid}`, `sid=${second.sid}`, `sid=${first.sid}&vid=${first.vid}`]) {
			const answer = await fetch(`${service.url}${path}?cask=${first.cask}&${more}`);
			assert.equal(answer.status, 403, path + more);
			assert.equal(await answer.text(), '{"message":"Forbidden","validationErrors":null}');
		}
});

test("a visit's segments stay the same when the visitor starts another visit", async (t) => {
	const { service, first, whole } = await startWithVisits(t);
	const read = async () => {
		const answer = await fetch(`${service.url}/visscores?cask=${first.cask}`);
		return ((await answer.json()) as { scores: { score: number }[] }).scores.map(({ score }) => score);
	};
	const before = await read();
	await service.hit({ vid: whole.vid, sid: whole.sid, events: [{ name: 'more' }] });
	assert.deepEqual(await read(), before);
	assert.equal(before.length, 2);
});
