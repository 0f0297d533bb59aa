import assert from 'node:assert/strict';
import { test } from 'node:test';
import { minuteMs } from '../../../../src/core/durations.ts';
import { countVisitors } from '../../../../src/core/store/account/reading/visitors.ts';
import { openAccount } from '../../../shared-server.ts';
import { browserUserAgent, startService } from '../../../support.ts';
import { readStored } from '../../store/stored-log.ts';

const foreign = '0123456789abcdef0123456789abcdef';

test('returns a visitor, a visit and a cask, for JSON and for the plain text that beacons send', async (t) => {
	const { sendHit } = await startService(t, { now: () => Date.UTC(2026, 10, 21, 12) });
	for (const type of ['application/json', 'text/plain', 'text/plain;charset=UTF-8']) {
		const answer = await sendHit({}, { 'content-type': type });
		assert.equal(answer.status, 200);
		const body = (await answer.json()) as Record<string, string>;
		assert.deepEqual(Object.keys(body), ['vid', 'sid', 'cask', 'caskExpiresAt']);
		for (const id of [body.vid, body.sid]) assert.match(id ?? '', /^[0-9a-f]{32}$/);
		assert.equal(body.caskExpiresAt, '2026-11-22T12:00:00.000Z');
		assert.equal(answer.headers.get('x-hit-stored'), '1');
		assert.equal(answer.headers.get('cache-control'), 'no-store');
		assert.equal(answer.headers.get('access-control-allow-origin'), '*');
	}
});

test('a visitor keeps its vid; a vid that the service did not issue is replaced', async () => {
	const { hit } = await openAccount();
	const { vid } = await hit();
	assert.equal((await hit({ vid })).vid, vid);
	for (const other of [foreign, vid.toUpperCase(), 'x', ''])
		assert.ok(![vid, other].includes((await hit({ vid: other })).vid), other);
});

test('another customer on a browser is another visitor, and the first one is told beside it', async () => {
	const { hit } = await openAccount();
	const first = await hit({ cid: 'customer-1' });
	assert.equal((first as { firstVid?: string }).firstVid, undefined);
	const asked = { vid: first.vid, sid: first.sid, cid: 'customer-2' };
	const { vid, sid, firstVid } = (await hit(asked)) as typeof first & { firstVid?: string };
	assert.equal(firstVid, first.vid);
	assert.notEqual(vid, first.vid);
	const next = (await hit({ vid, firstVid, sid })) as typeof first & { firstVid?: string };
	assert.deepEqual([next.vid, next.sid, next.firstVid], [vid, sid, first.vid]);
	const back = (await hit({ vid, firstVid, cid: 'customer-1' })) as typeof next;
	assert.deepEqual([back.vid, back.firstVid], [first.vid, undefined]);
	for (const odd of [foreign, 'x', ''])
		assert.equal((await hit({ vid, firstVid: odd, cid: 'customer-2' })).vid, vid);
});

test('a visit ends after 30 minutes without a hit', async (t) => {
	const clock = { nowMs: Date.UTC(2026, 10, 21, 12) };
	const { hit } = await startService(t, { now: () => clock.nowMs });
	const { vid, sid } = await hit();
	clock.nowMs += 30 * minuteMs - 1;
	assert.equal((await hit({ vid, sid })).sid, sid);
	clock.nowMs += 30 * minuteMs;
	const next = await hit({ vid, sid });
	assert.equal(next.vid, vid);
	assert.notEqual(next.sid, sid);
});

test('returns scores and segments on request', async () => {
	const { hit } = await openAccount();
	const both = await hit({}, {}, '?include=scores,segments');
	assert.equal(both.scores?.length, 2);
	assert.deepEqual(both.segments, [{ id: 'new', name: 'New visitors' }]);
	assert.equal((await hit({}, {}, '?include=segments')).scores, undefined);
	for (const query of ['?include=scores&include=segments', '?include=scores,%20segments']) {
		const asked = await hit({}, {}, query);
		assert.ok(asked.scores && asked.segments, query);
	}
	assert.equal((await hit({}, {}, '?include=')).segments, undefined);
});

test('a wrong value costs itself, not the rest, and the answer says what would be right', async (t) => {
	const service = await startService(t);
	const { sendHit, store, aid } = service;
	const sent = {
		title: {},
		cid: 42,
		vid: null,
		events: [
			{ name: 'seen' },
			{ name: 7, tid: 1234, rvn: '4,99', currency: 'gbp' },
			{ tid: 'nameless' },
			'odd',
			{ name: 'a'.repeat(256) },
			{ name: 'left', rvn: 499, currency: 'GBP' },
		],
	};
	const answer = await sendHit(sent);
	assert.equal(answer.status, 200);
	const { ignored = '' } = (await answer.json()) as { ignored?: string };
	assert.deepEqual(
		ignored.split('; ').map((problem) => problem.split(' ')[0]),
		['title', 'events[1].rvn', 'events[1].currency', 'events[2].name', 'events[3].name', 'events[4].name'],
	);
	const { id } = await store.control.account(aid);
	const [hit] = (await readStored(store, id)).log.hits;
	assert.equal(hit?.body.cid, '42');
	assert.deepEqual(hit?.body.events, [
		{ name: 'seen' },
		{ name: '7', tid: '1234', isTidUnproven: true },
		{ name: 'left', rvn: 499, currency: 'GBP' },
	]);
	const listless = (await (await sendHit({ events: 'none' })).json()) as { ignored?: string };
	assert.equal(listless.ignored, 'events must be an array of at most 20 events');
	for (const cid of ['12345678901234567', '1234567890.12345678', '1e-400']) {
		const lossy = await sendHit(`{"aid":"${aid}","cid":${cid}}`);
		assert.match(((await lossy.json()) as { ignored: string }).ignored, /^cid must be a string/, cid);
	}
});

test("a bot's hit is answered and not stored", async () => {
	const { sendHit, store, aid } = await openAccount();
	const answer = await sendHit({}, { 'user-agent': 'Mozilla/5.0 (compatible; Googlebot/2.1)' });
	assert.equal(answer.status, 200);
	assert.equal(answer.headers.get('x-hit-stored'), '0');
	const { id } = await store.control.account(aid);
	assert.equal(await store.read(id, countVisitors()), 0);
});

test('hit.gif stores a hit and always answers with an image', async () => {
	const { url, aid, store } = await openAccount();
	const headers = { 'user-agent': browserUserAgent };
	for (const [of, status] of [
		[aid, 200],
		['c-a-unknown', 400],
	] as const) {
		const answer = await fetch(`${url}/hit.gif?aid=${of}&event=seen`, { headers });
		assert.equal(answer.status, status);
		assert.equal(answer.headers.get('content-type'), 'image/gif');
		assert.equal((await answer.bytes()).length, 42);
	}
	const { id } = await store.control.account(aid);
	assert.equal(await store.read(id, countVisitors()), 1);
});
