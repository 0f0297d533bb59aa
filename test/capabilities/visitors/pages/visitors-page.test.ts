import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { hourMs, minuteMs } from '../../../../src/core/durations.ts';
import { isoTime } from '../../../../src/core/format/iso-time.ts';
import { foldAll } from '../../../../src/core/store/fold-all.ts';
import { consoleHere } from '../../../assembly/console/here.ts';
import {
	type Engine,
	enginesAboveContract,
	startWritingFor,
	subscriptionEvent,
	upload,
} from '../../../core/store/engines.ts';
import { hit } from '../../../core/store/made-hits.ts';
import type { Lasting } from '../../../support.ts';

const aid = 'c-a-one';
const analyst = [{ aid, role: 'analyst' } as const];
const operator = [{ aid, role: 'operator' } as const];
const hostile = '<img src=x onerror=alert(1)> =cmd() \u202eهوية';

/** An account with a buyer, who came twice, and whose purchase was uploaded. */
async function withBuyer(t: Lasting, engine: Engine) {
	const here = await consoleHere(t, engine);
	const { store, clock } = here;
	const writer = await startWritingFor(t, store);
	const { id } = await store.control.account(aid);
	const key = await store.control.issueKey('acme', 'standard', { name: 'billing' });
	const atMs = clock.now - 2 * hourMs;
	const first = hit(
		{ atMs },
		{ channel: 'paid search', url: 'https://shop.example/?utm_source=google', page: hostile },
	);
	const vid = first.freshVid;
	await writer.storeHit(id, first);
	await writer.storeHit(
		id,
		hit({ vid, atMs: atMs + hourMs }, { events: [{ name: 'checkout', tid: 'T/1 ü' }], cid: hostile }),
	);
	const sale = subscriptionEvent({ tid: 'T/1 ü', subid: 'S-1', cid: hostile, rvn: 1001 });
	const other = subscriptionEvent({ tid: 'T-other', subid: 'S-2' });
	const arrival = { atMs: atMs + hourMs + minuteMs, requestId: 'r-1', keyId: key.id };
	await upload(writer, id, [sale, other], arrival);
	await foldAll(store, id);
	return { ...here, accountId: id, writer, vid, keyId: key.id, base: `/console/${aid}` };
}

for (const engine of enginesAboveContract)
	suite(`visitors in the console on ${engine.name}`, () => {
		test('visitors are found by whatever is known of them, and recent ones are listed', async (t) => {
			const { person, vid, base, errors } = await withBuyer(t, engine);
			const ada = await person('ada@example.com', analyst);
			const find = async (text: string) =>
				ada.whole(`${base}/visitors?${new URLSearchParams({ find: text })}`);
			assert.equal((await find(vid)).location, `${base}/visitors/${vid}`);
			for (const text of ['', 'T/1 ü', 'S-1', hostile]) {
				const { body } = await find(text);
				assert.ok(body.includes(`href="${base}/visitors/${vid}"`), text);
				assert.doesNotMatch(body, /<img/);
			}
			assert.match((await find('T/1 ü')).body, /href="\/console\/c-a-one\/events\/T%2F1%20%C3%BC"/);
			const unowned = (await find('S-2')).body;
			assert.match(unowned, /No visitor is linked to it/);
			assert.match(unowned, /events\/T-other/);
			assert.match((await find('nobody')).body, /Nothing is found for/);
			assert.deepEqual(errors, []);
		});

		test('a life is shown, the looking is noted, and the files tell the same', async (t) => {
			const { person, vid, base, store, clock, errors } = await withBuyer(t, engine);
			const ada = await person('ada@example.com', analyst);
			const { status, body } = await ada.whole(`${base}/visitors/${vid}`);
			assert.equal(status, 200);
			for (const part of [/£10\.01/, /Timeline/, /<svg/, /visits/, /payments/, /paid search/, /2 hits|1 hit/])
				assert.match(body, part);
			assert.doesNotMatch(body, /<img| style=|<script(?! type="module" src=)/);
			assert.doesNotMatch(body, /Erase this visitor/, 'an analyst does not');
			const [seen] = await store.control.audit.list({ aid, limit: 1 });
			assert.deepEqual([seen?.who, seen?.action, seen?.about], ['ada@example.com', 'visitor viewed', vid]);
			const file = async (name: string) => (await ada.whole(`${base}/visitors/${vid}/${name}`)).body;
			const { timeline, subscriptionEvents } = JSON.parse(await file('timeline.json'));
			assert.deepEqual(
				subscriptionEvents.map(({ tid }: { tid: string }) => tid),
				['T/1 ü'],
			);
			assert.ok((await file('timeline.csv')).startsWith('\ufeff'), 'so that Excel reads ü');
			// Since when somebody is in a segment is told as the line tells it, and no later look changes it.
			clock.now += 5 * minuteMs;
			for (const shown of [body, (await ada.whole(`${base}/visitors/${vid}`)).body]) {
				const since = /Returning visitors<\/bdi> since ([\d-]+ [\d:]+)/.exec(shown)?.[1];
				const entered = timeline.find(
					(entry: { isIn?: boolean; name?: string }) => entry.isIn && entry.name === 'Returning visitors',
				);
				assert.equal(since, entered.at.slice(0, 19).replace('T', ' '));
			}
			const lines = (await file('timeline.csv')).trim().split('\r\n');
			assert.equal(lines.length, timeline.length + 1);
			assert.match(await file('none.csv'), /There is no file none\.csv/);
			assert.equal((await ada.whole(`${base}/visitors/${'0'.repeat(32)}`)).status, 404);
			assert.deepEqual(errors, []);
		});

		test('what a visitor left is exported by whoever has just signed in, else by password', async (t) => {
			const { person, vid, base, store, clock } = await withBuyer(t, engine);
			const ada = await person('ada@example.com', analyst);
			const page = `${base}/visitors/${vid}`;
			const fresh = await ada.post(page, { action: 'export' });
			assert.equal(fresh.status, 200);
			assert.match(String(fresh.headers['content-disposition']), /attachment/);
			assert.equal(JSON.parse(fresh.body).hits.length, 2);
			clock.now += 20 * minuteMs;
			const asking = await ada.post(page, { action: 'export' });
			assert.equal(asking.status, 403);
			assert.match(asking.body, /A new sign-in link/);
			const bob = await person('bob@example.com', analyst);
			const word = 'correct horse battery';
			await bob.post('/console/account', { action: 'password', new: word, again: word });
			clock.now += 20 * minuteMs;
			assert.match((await bob.post(page, { action: 'export' })).body, /Your password/);
			const guess = await bob.post(page, { action: 'export', password: 'a wrong password' });
			assert.equal(guess.status, 403);
			assert.match(guess.body, /The password is not right/);
			assert.equal((await bob.post(page, { action: 'export', password: word })).status, 200);
			const actions = (await store.control.audit.list({ aid, limit: 20 })).map(({ action }) => action);
			assert.equal(actions.filter((action) => action === 'visitor exported').length, 2);
		});

		test('erasing says what goes, asks for certainty, and leaves no trace of whom', async (t) => {
			const { person, vid, base, store, accountId, errors } = await withBuyer(t, engine);
			const olga = await person('olga@example.com', operator);
			await olga.whole(`${base}/visitors/${vid}`);
			const { body } = await olga.whole(`${base}/visitors/${vid}/erase`);
			assert.match(body, /2 hits of 2 visits/);
			assert.match(body, /Kept without visitor and customer id: 1 subscription event\./);
			const page = `${base}/visitors/${vid}/erase`;
			assert.match((await olga.post(page, { action: 'erase' })).body, /Tick “Erase all of this” to confirm/);
			const { status, body: done } = await olga.post(page, { action: 'erase', sure: 'yes' });
			assert.equal(status, 200);
			assert.match(
				done,
				/The visitor is erased: 2 hits of 2 visits\. Kept without visitor and customer id: 1 subscription event\./,
			);
			assert.match(
				(await olga.get(`${base}/events/${encodeURIComponent('T/1 ü')}`)).body,
				/none: not sent, or erased/,
			);
			assert.equal((await olga.get(`${base}/visitors`)).body.includes(vid), false);
			assert.match((await olga.get(page)).body, /Nothing is stored about a visitor/);
			const audit = await store.control.audit.list({ aid, limit: 20 });
			assert.ok(audit.some(({ action }) => action === 'visitor erased'));
			assert.deepEqual(audit.map(({ about }) => about).filter(Boolean), []);
			assert.equal(JSON.stringify(audit).includes(vid), false);
			assert.ok(accountId);
			assert.deepEqual(errors, []);
		});

		test('a customer is found, exported and erased as one, from the search, the visitor and the event', async (t) => {
			const { person, vid, base, store, writer, accountId, clock, errors } = await withBuyer(t, engine);
			const second = hit({ atMs: clock.now - minuteMs }, { cid: hostile });
			await writer.storeHit(accountId, second);
			await foldAll(store, accountId);
			const olga = await person('olga@example.com', operator);
			const page = `${base}/customers/${encodeURIComponent(hostile)}`;
			for (const from of [
				`${base}/visitors?${new URLSearchParams({ find: hostile })}`,
				`${base}/visitors/${vid}`,
				`${base}/events/${encodeURIComponent('T/1 ü')}`,
			])
				assert.ok((await olga.whole(from)).body.includes(`href="${page}"`), from);
			const searched = await store.control.audit.list({ aid, about: hostile, limit: 5 });
			assert.deepEqual(
				searched.map(({ action }) => action),
				['customer searched'],
			);
			assert.match((await olga.get(page)).body, /2 visitors/);
			const exported = JSON.parse((await olga.post(page, { action: 'export' })).body);
			assert.deepEqual(
				exported.visitors.map((one: { vid: string }) => one.vid).sort(),
				[vid, second.freshVid].sort(),
			);
			assert.deepEqual(
				exported.subscriptionEvents.map((one: { tid: string }) => one.tid),
				['T/1 ü'],
			);
			const before = (await olga.get(`${page}/erase`)).body;
			assert.match(before, /2 visitors/);
			assert.match(before, /Kept without visitor and customer id: 1 subscription event\./);
			assert.match(
				(await olga.post(`${page}/erase`, { action: 'erase' })).body,
				/Tick “Erase all of this” to confirm/,
			);
			const done = await olga.post(`${page}/erase`, { action: 'erase', sure: 'on' });
			assert.match(done.body, /The customer is erased: 2 visitors, 3 hits of/);
			assert.match((await olga.get(page)).body, /Nothing is stored about a customer/);
			const audit = JSON.stringify(await store.control.audit.list({ aid, limit: 50 }));
			assert.match(audit, /customer erased/);
			assert.equal(audit.includes('onerror'), false, 'nor is the customer named any more');
			assert.equal(audit.includes(vid), false);
			assert.deepEqual(errors, []);
		});

		test('a customer whom no visitor has shown is found, exported and erased', async (t) => {
			const { person, base, writer, accountId, keyId, clock, store } = await withBuyer(t, engine);
			const sale = subscriptionEvent({ tid: 'T-shop', subid: 'S-shop', cid: 'customer-42' });
			await upload(writer, accountId, [sale], { atMs: clock.now - minuteMs, requestId: 'r-2', keyId });
			await foldAll(store, accountId);
			const olga = await person('olga@example.com', operator);
			const page = `${base}/customers/customer-42`;
			assert.ok((await olga.whole(`${base}/visitors?find=customer-42`)).body.includes(`href="${page}"`));
			const { visitors, subscriptionEvents } = JSON.parse((await olga.post(page, { action: 'export' })).body);
			assert.deepEqual([visitors.length, subscriptionEvents[0].tid], [0, 'T-shop']);
			assert.match(
				(await olga.post(`${page}/erase`, { action: 'erase', sure: 'on' })).body,
				/0 visitors.*Kept without visitor and customer id: 1 subscription event/s,
			);
			assert.match((await olga.whole(`${base}/visitors?find=customer-42`)).body, /Nothing is found for/);
			assert.match((await olga.post(page, { action: 'export' })).body, /has no such customer/);
		});

		test('a penny is followed to its upload, its visitor, and the touches, to which each model gives all of it', async (t) => {
			const { person, vid, base, keyId, errors } = await withBuyer(t, engine);
			const ada = await person('ada@example.com', analyst);
			const address = `${base}/events/${encodeURIComponent('T/1 ü')}`;
			const { status, body } = await ada.get(address);
			assert.equal(status, 200);
			assert.match(body, /£10\.01<\/strong>, acquisition/);
			assert.equal((await ada.get(`${base}/events/nothing`)).status, 404);
			assert.equal((await ada.get(`${base}/customers/nobody`)).status, 404);
			for (const part of ['r-1', keyId, 'billing', `${base}/visitors/${vid}`, `${base}/events/T-other`])
				assert.ok(body.includes(part), part);
			assert.match(body, /Matched by transaction: this visitor was the first/);
			assert.doesNotMatch(body, /<img/);
			const rows = JSON.parse((await ada.get(`${address}/touches.json`)).body) as Record<string, number>[];
			assert.equal(rows.length, 2);
			for (const model of ['first', 'last', 'last-non-direct', 'linear', 'decay', 'position'])
				assert.equal(
					rows.reduce((sum, row) => sum + (row[`${model}Pence`] as number), 0),
					1001,
					model,
				);
			assert.deepEqual(
				rows.map((row) => row.linearPence),
				[501, 500],
			);
			const unowned = (await ada.whole(`${base}/events/T-other`)).body;
			assert.match(unowned, /Not matched to a visitor: no page has reported/);
			const unknown = (await ada.whole(`${base}/events/none`)).body;
			assert.match(unknown, /No subscription event with the transaction/);
			assert.doesNotMatch(unknown, /API key/);
			assert.deepEqual(errors, []);
		});

		test('an event that told its time has both times, and is the step of its subscription that it was', async (t) => {
			const { person, base, writer, accountId, keyId, clock, errors } = await withBuyer(t, engine);
			const ada = await person('ada@example.com', analyst);
			const atMs = clock.now - 4 * hourMs;
			const told = (tid: string, rvn: number, atMs: number) => ({
				...subscriptionEvent({ tid, subid: 'S-told', rvn }),
				atMs,
			});
			const late = { atMs: atMs + 3 * hourMs, requestId: 'r-late', keyId };
			await upload(
				writer,
				accountId,
				[told('T-renewal', 700, atMs), told('T-sale', 600, atMs - hourMs)],
				late,
			);
			const { body } = await ada.whole(`${base}/events/T-sale`);
			assert.match(body, /£6\.00<\/strong>, acquisition/);
			const text = body.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');
			const timeOf = (ms: number) => isoTime(ms).slice(0, 19).replace('T', ' ');
			const received = timeOf(late.atMs);
			assert.ok(text.includes(`Happened ${timeOf(atMs - hourMs)} Subscription`), text);
			assert.ok(text.includes(`The upload that brought it Received ${received} Request`), text);
			assert.match(
				text,
				new RegExp(`Happened Received Transaction .* ${timeOf(atMs)} ${received} T-renewal`),
			);
			const untold = (await ada.whole(`${base}/events/T-other`)).body;
			assert.match(untold, /the time of the upload: no other was sent/);
			assert.deepEqual(errors, []);
		});

		test('a visitor with very many hits is cut, and the page says so', async (t) => {
			const { person, vid, base, writer, accountId, clock, store, errors } = await withBuyer(t, engine);
			const hits = Array.from({ length: 120 }, (_, number) =>
				hit({ vid, atMs: clock.now - 3 * hourMs - number * hourMs }, { page: `page ${number}` }),
			);
			for (const each of hits) await writer.storeHit(accountId, each);
			await foldAll(store, accountId);
			const ada = await person('ada@example.com', analyst);
			const { body } = await ada.whole(`${base}/visitors/${vid}`);
			assert.match(body, /Rows 1 to 50 of 122\. <a href="[^"]*table=hits&#38;row=50#hits">Next/);
			assert.match(
				(await ada.whole(`${base}/visitors/${vid}?table=timeline&row=50`)).body,
				/Rows 51 to 100 of \d+\. <a [^>]*>Before</,
			);
			const byPage = (await ada.whole(`${base}/visitors/${vid}?table=hits&sort=-Page`)).body;
			assert.match(byPage, /aria-sort="descending".*page 119.*page 118.*page 99/s);
			assert.ok((body.match(/<\w/g) ?? []).length < 3000);
			assert.deepEqual(errors, []);
		});
	});
