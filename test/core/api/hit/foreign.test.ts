import assert from 'node:assert/strict';
import { test } from 'node:test';
import { minuteMs } from '../../../../src/core/durations.ts';
import { countVisitors } from '../../../../src/core/store/account/reading/visitors.ts';
import { openAccount } from '../../../shared-server.ts';
import { event, startService } from '../../../support.ts';

const subscribers = { id: 'subscriber', name: 'Subscribers' };

test("another account's vid and sid are replaced", async () => {
	const { hit, url, aid, upload } = await openAccount();
	const other = await openAccount();
	const theirs = await hit({ events: [{ name: 'checkout', tid: 'order-1' }] });
	assert.equal((await upload({ aid, data: [event({ tid: 'order-1' })] })).status, 201);

	const ours = await hit({ aid: other.aid, vid: theirs.vid, sid: theirs.sid });
	assert.notEqual(ours.vid, theirs.vid);
	assert.notEqual(ours.sid, theirs.sid);
	const segments = async (cask: string) => {
		const answer = await fetch(`${url}/segments?cask=${cask}`);
		const body = (await answer.json()) as { aid: string; vid: string; segments: unknown };
		return [body.aid, body.vid, body.segments];
	};
	const newVisitors = { id: 'new', name: 'New visitors' };
	assert.deepEqual(await segments(ours.cask), [other.aid, ours.vid, [newVisitors]]);
	assert.deepEqual(await segments(theirs.cask), [aid, theirs.vid, [newVisitors, subscribers]]);
	// The cask of the answer does not give access to the other account.
	for (const more of [`aid=${aid}`, `vid=${theirs.vid}`])
		assert.equal((await fetch(`${url}/segments?cask=${ours.cask}&${more}`)).status, 403);
});

test("another visitor's sid starts a new visit", async () => {
	const { hit, aid, store } = await openAccount();
	const [one, two] = [await hit(), await hit()];
	const mixed = await hit({ vid: one.vid, sid: two.sid });
	assert.equal(mixed.vid, one.vid);
	assert.notEqual(mixed.sid, two.sid);
	const alone = await hit({ sid: two.sid });
	assert.ok(![one.vid, two.vid].includes(alone.vid));
	assert.notEqual(alone.sid, two.sid);
	const { id } = await store.control.account(aid);
	assert.equal(await store.read(id, countVisitors()), 3);
});

test('the cask of a visit reads that visit; a later visit has another cask', async (t) => {
	const clock = { nowMs: Date.UTC(2026, 10, 21, 12) };
	const { hit, url } = await startService(t, { now: () => clock.nowMs });
	const first = await hit({}, {}, '?scope=sid');
	clock.nowMs += 31 * minuteMs;
	const second = await hit({ vid: first.vid, sid: first.sid }, {}, '?scope=sid');
	assert.notEqual(second.sid, first.sid);
	for (const { cask, sid } of [first, second]) {
		const answer = await fetch(`${url}/visscores?cask=${cask}`);
		const body = (await answer.json()) as Record<string, unknown>;
		assert.equal(body.sid, sid);
		assert.equal('vid' in body, false);
	}
});
