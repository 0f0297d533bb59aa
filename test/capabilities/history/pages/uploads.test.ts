import assert from 'node:assert/strict';
import { test } from 'node:test';
import { forecastOf } from '../../../../src/capabilities/history/pages/uploads.ts';
import { RequestCounter } from '../../../../src/core/access/request-counter.ts';
import { dayMs, minuteMs } from '../../../../src/core/durations.ts';
import { seededRandom } from '../../../../src/kit/random.ts';
import { consoleHere } from '../../../assembly/console/here.ts';
import {
	addAccount,
	enginesAboveContract,
	startWritingFor,
	subscriptionEvent,
	upload,
} from '../../../core/store/engines.ts';

const hostile = '<img src=x onerror=alert(1)> =cmd() \u202eهوية';
const path = '/console/c-a-one/uploads';

test('a month goes on as it did so far', () => {
	const month = { month: '2026-11', resetsAt: '2026-12-01T00:00:00.000Z', used: 100 };
	const known = { key: 'k', client: 'acme', plan: 'standard', quota: 1000, forfeited: 0, remaining: 900 };
	const at = (day: string) => forecastOf({ ...known, ...month }, Date.parse(day));
	assert.equal(at('2026-11-16'), 200);
	assert.equal(at('2026-11-01'), 100);
	assert.equal(at('2026-12-02'), 100);
});

for (const engine of enginesAboveContract)
	test(`quotas are those of the command, and the latest uploads lead to their events, on ${engine.name}`, async (t) => {
		const { person, store, clock, errors, directory } = await consoleHere(t, engine);
		await addAccount(store, 'c-a-solo', 'solo');
		const { id, client } = await store.control.account('c-a-one');
		const ada = await person('ada@example.com', [{ aid: null, role: 'admin' }]);
		assert.match((await ada.whole('/console/c-a-solo/uploads')).body, /No key has been issued/);
		assert.match((await ada.whole(path)).body, /Nothing is stored yet/);
		const key = await store.control.issueKey(client, 'standard', { name: 'billing' });
		const writer = await startWritingFor(t, store);
		const arrival = { atMs: clock.now - minuteMs, requestId: 'r-1', keyId: key.id };
		await upload(
			writer,
			id,
			[subscriptionEvent({ tid: hostile, rvn: 1001 }), subscriptionEvent({ tid: 'T-2', rvn: -1 })],
			arrival,
		);
		await upload(writer, id, [subscriptionEvent({ tid: 'T-3', rvn: 5 })], {
			...arrival,
			atMs: clock.now,
			requestId: 'r-2',
		});
		const day = '2026-11-21';
		const { clientId = 0 } = { ...directory.account('c-a-one') };
		const counted = { clientId, aid: 'c-a-one', atMs: Date.parse(day) };
		await writer.recordCounts({ uploadAnswers: [{ ...counted, cause: 'stored', requests: 2 }] });
		await writer.recordCounts({
			uploadAnswers: [
				{ ...counted, cause: 'stored', requests: 3 },
				{ ...counted, cause: 'rate_limit_exceeded', requests: 7, aid: null },
				{ ...counted, cause: 'stored', requests: 11, aid: 'c-a-two' },
				{ ...counted, cause: 'stored', requests: 13, atMs: Date.parse(day) - minuteMs },
			],
			uploadProblems: Array.from({ length: 120 }, (_, number) => ({
				...counted,
				cause: 'invalid_request',
				atMs: clock.now - number * 1000,
				keyId: key.id,
				requestId: `refused-${number}`,
				detail: number === 1 ? 'rows 0,2 of data' : `data[${number}].tid is required ${hostile}`,
			})),
		});
		assert.equal((await store.control.uploadAnswers.problems(clientId, 'c-a-one')).length, 100);
		assert.deepEqual(JSON.parse((await ada.get(`${path}/answers.json`)).body), [
			{ day: '2026-11-20', rate_limit_exceeded: 0, stored: 13 },
			{ day, rate_limit_exceeded: 7, stored: 5 },
		]);
		const { body } = await ada.whole(path);
		for (const part of [
			'In the last 28 days, 7 of 25 API uploads failed: 7 rate limit exceeded.',
			'Uploads by answer',
			'event 1: tid is required',
			'event 1,3: its tid is stored with other content, which stays',
			'refused-49',
			'Rows 1 to 50 of 100.',
		])
			assert.ok(body.includes(part), part);
		assert.doesNotMatch(body, /refused-50/);
		const about = async (query: string) => (await ada.whole(`${path}?${query}`)).body;
		assert.match(await about('days=today'), /Today, 7 of 12 API uploads failed: 7 rate limit exceeded\./);
		const yesterday = await about('days=yesterday');
		assert.match(yesterday, /Yesterday, none of 13 API uploads failed\./);
		assert.doesNotMatch(yesterday, /refused-|r-1/);
		assert.match(await about('day=2026-11-19'), /On 2026-11-19, no upload came through the API\./);
		assert.match(await about('days=3'), /days must be today, yesterday, 7, 28; or day a day/);
		const last = await about('table=failed-uploads-and-those-with-conflicts&row=50');
		assert.match(last, /refused-99/);
		assert.match(await about('table=stored-uploads-and-imports&sort=Amount'), /r-2.*r-1/s);
		for (const part of ['r-1', 'r-2', key.id, 'billing', '£10.00', '£0.05', '1,000,000'])
			assert.ok(body.includes(part), part);
		assert.ok(body.indexOf('r-2') < body.indexOf('r-1'), 'the latest first');
		assert.match(body, /These are the latest 2\./);
		assert.doesNotMatch(body, /<img| style=|<script(?! type="module" src=)/);
		assert.ok((body.match(/<\w/g) ?? []).length < 3000);
		await addAccount(store, 'c-a-three', client);
		const olga = await person('olga@example.com', [{ aid: 'c-a-one', role: 'operator' }]);
		const own = (await olga.whole(path)).body;
		assert.match(own, /You are not an operator of all of them/);
		assert.match(own, /r-2/);
		assert.match(own, /refused-0/);
		assert.doesNotMatch(own, /rate limit exceeded/);
		assert.deepEqual(errors, []);
	});

for (const engine of enginesAboveContract)
	test(`yesterday is the account's, also where the clock is changed, on ${engine.name}`, async (t) => {
		const { person, store, clock, directory } = await consoleHere(t, engine);
		const zone = 'Australia/Adelaide';
		await store.control.updateAccount('c-a-one', { timezone: zone });
		await directory.refresh();
		const ada = await person('ada@example.com', [{ aid: null, role: 'admin' }]);
		const writer = await startWritingFor(t, store);
		// On 4 October 2026 the clock is put forward, at 16:30 UTC of the day before: yesterday has 23 hours.
		clock.now = Date.parse('2026-10-05T01:00:00+10:30');
		const random = seededRandom(46);
		const answered = Array.from({ length: 500 }, () => ({
			clientId: directory.account('c-a-one')?.clientId ?? 0,
			aid: 'c-a-one',
			atMs: clock.now - Math.floor(random() * 4 * dayMs),
			cause: random() < 0.3 ? 'invalid_request' : 'stored',
		}));
		const counter = new RequestCounter((counts) => writer.recordCounts(counts), assert.ifError);
		for (const answer of answered)
			counter.answerUpload(answer, () => ({ requestId: `r-${answer.atMs}`, keyId: 'k', detail: 'rows 0' }));
		await counter.stop();
		const dayOf = new Intl.DateTimeFormat('en-CA', { timeZone: zone, dateStyle: 'short' });
		const own = answered.filter(({ atMs }) => dayOf.format(atMs) === '2026-10-04');
		const failed = own.filter(({ cause }) => cause === 'invalid_request');
		const day = { day: '2026-10-04', invalid_request: failed.length, stored: own.length - failed.length };
		for (const query of ['days=yesterday', 'day=2026-10-04'])
			assert.deepEqual(JSON.parse((await ada.get(`${path}/answers.json?${query}`)).body), [day]);
		const all = JSON.parse((await ada.get(`${path}/answers.json?days=7`)).body) as (typeof day)[];
		assert.equal(
			all.reduce((sum, { invalid_request, stored }) => sum + invalid_request + stored, 0),
			500,
		);
		const { body } = await ada.whole(`${path}?days=yesterday`);
		assert.ok(
			body.includes(
				`Yesterday, ${failed.length} of ${own.length} API uploads failed: ${failed.length} invalid request.`,
			),
		);
		const listed = body.matchAll(/r-(\d{13})/g).map(([, ms]) => dayOf.format(Number(ms)));
		assert.deepEqual([...new Set(listed)], ['2026-10-04']);
		assert.match(body, /Days and times in Australia\/Adelaide/);
		assert.match(body, /2026-10-04 \d\d:\d\d:\d\d/);
	});
