import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { openStore } from '../../../../src/assembly/open-store.ts';
import { hourMs } from '../../../../src/core/durations.ts';
import { assertMisused, assertRefused, caskade, caskadeJson } from '../../../process.ts';
import { startService } from '../../../support.ts';
import { trainedOnVisitors } from '../made-up-profiles.ts';

const beganMs = Date.now() - 20 * hourMs;

interface Line {
	readonly visitor?: string;
	readonly vid: string;
	readonly goal: string;
	readonly score: number;
	readonly percentile: number;
	readonly band: string;
	readonly model: string;
}

/** A running server whose visitors come an hour apart: to the blog, to pricing, to the blog; with an active model. */
async function withVisitors(t: TestContext, fromMs = beganMs) {
	const clock = { nowMs: fromMs };
	const service = await startService(t, { now: () => clock.nowMs });
	const { store, aid, hit, folder } = service;
	const vids: string[] = [];
	for (const page of ['blog', 'pricing', 'blog']) {
		vids.push((await hit({ url: `https://shop.example/${page}` })).vid);
		clock.nowMs += hourMs;
	}
	const { id } = await store.control.account(aid);
	const { model, report } = trainedOnVisitors('logistic');
	const told = { ...report, asOf: new Date(beganMs + hourMs).toISOString() };
	const texts = { body: JSON.stringify(model), report: JSON.stringify(told) };
	const name = await store.control.insertModel(id, { goal: 'subscription', scope: 'vid', ...texts });
	await store.control.activateModel(id, name);
	const at = ['--database', `sqlite:${folder}`];
	const score = async (...args: string[]) => {
		const { stdout, stderr, code } = await caskade(['score', aid, ...args, ...at]);
		assert.equal(code, 0, stderr);
		return stdout
			.split('\n')
			.filter(Boolean)
			.map((line) => JSON.parse(line) as Line);
	};
	return { ...service, clock, vids, version: name.version, at, score };
}

test('prints every score of every visitor, one per line, beside a running server', async (t) => {
	const { aid, vids, version, at, score } = await withVisitors(t);
	const lines = await score();
	assert.deepEqual(
		lines.map(({ vid, goal, model }) => [vid, goal, model]),
		vids.flatMap((vid) => [
			[vid, 'subscription', version],
			[vid, 'return', 'prior'],
		]),
	);
	const ofGoal = await score('--goal', 'subscription');
	assert.deepEqual(
		ofGoal,
		lines.filter(({ goal }) => goal === 'subscription'),
	);
	// Who has viewed pricing comes first.
	assert.deepEqual(Object.keys(ofGoal[1] as Line), ['vid', 'goal', 'score', 'percentile', 'band', 'model']);
	assert.deepEqual([ofGoal[1]?.percentile, ofGoal[1]?.band], [100, 'high']);
	assert.deepEqual(await caskadeJson(['score', aid, '--goal', 'subscription', ...at]), ofGoal);
	const csv = (await caskade(['score', aid, '--goal', 'subscription', '--format', 'csv', ...at])).stdout;
	const [heading, first] = csv.split('\n');
	assert.equal(heading, 'vid,goal,score,percentile,band,model');
	assert.equal(first, Object.values(ofGoal[0] as Line).join(','));
	assert.equal(csv.split('\n').length, 5);
	// Rules of segments are asked with the same scores.
	const rule = ['--rule', 'bands.subscription == "high"'];
	const { matching } = (await caskadeJson(['segment', 'test', aid, ...rule, ...at])) as { matching: number };
	assert.equal(matching, 1);
	const base = await score('--goal', 'subscription', '--model', 'prior');
	assert.deepEqual(new Set(base.map(({ model }) => model)), new Set(['prior']));
	assert.deepEqual(await score('--goal', 'subscription', '--model', version), ofGoal);
});

test('of a log that has ended, it says until when anything is known', async (t) => {
	const { aid, at, clock } = await withVisitors(t, beganMs - 72 * hourMs);
	const endedAt = new Date(clock.nowMs - hourMs).toISOString().slice(0, 13);
	const { stderr, code } = await caskade(['score', aid, ...at]);
	assert.equal(code, 0);
	assert.match(
		stderr,
		new RegExp(`^The log ended 3 days ago, at ${endedAt}.*: nothing is known about the time since`),
	);
	const asOf = await caskade(['score', aid, '--as-of', new Date(clock.nowMs).toISOString(), ...at]);
	assert.doesNotMatch(asOf.stderr, /The log ended/);
});

test('as of a time, nothing later is used', async (t) => {
	const { vids, clock, hit, upload, aid, score } = await withVisitors(t);
	const [first, second] = vids as [string, string];
	const asOf = new Date(beganMs + 1.5 * hourMs).toISOString();
	const before = await score('--goal', 'subscription', '--as-of', asOf);
	assert.deepEqual(
		before.map(({ vid }) => vid),
		[first, second],
	);
	clock.nowMs += hourMs;
	await hit({
		vid: first,
		url: 'https://shop.example/pricing',
		events: [{ name: 'checkout', tid: 'order-1' }],
	});
	await upload({ aid, data: [{ tid: 'order-1', subid: 's', evt: 'trial', rvn: 499 }] });
	assert.deepEqual(await score('--goal', 'subscription', '--as-of', asOf), before);
	const atTheEnd = await score('--goal', 'subscription', '--as-of', new Date(clock.nowMs).toISOString());
	assert.equal(atTheEnd.length, 3);
	assert.ok((atTheEnd[0]?.score ?? 0) > (before[0]?.score ?? 1));
	assert.deepEqual(await score('--as-of', '2001-01-01'), []);
});

test('as of a time, the model has seen nothing later either', async (t) => {
	const { aid, store, version, at } = await withVisitors(t);
	const asOf = new Date(beganMs + 0.5 * hourMs).toISOString();
	const score = ['score', aid, '--goal', 'subscription', '--as-of', asOf, ...at];
	const { stdout, stderr } = await caskade(score);
	assert.equal((JSON.parse(stdout) as Line).model, 'prior');
	assert.match(stderr, /No model of goal subscription was trained as of .* or earlier/);
	const named = (await caskadeJson([...score, '--model', version])) as Line[];
	assert.equal(named[0]?.model, version);
	const { model, report } = trainedOnVisitors('logistic');
	const { id } = await store.control.account(aid);
	const insert = (of: object) =>
		store.control.insertModel(id, {
			goal: 'subscription',
			scope: 'vid',
			body: JSON.stringify(model),
			report: JSON.stringify({ ...report, asOf, ...of }),
		});
	const earlier = await insert({});
	const waiting = await insert({ doubts: ['likely leaks'] });
	const modelOf = async (...args: string[]) => ((await caskadeJson([...score, ...args])) as Line[])[0]?.model;
	assert.equal(await modelOf(), earlier.version, 'one that waits scores nothing');
	assert.equal(await modelOf('--model', waiting.version), waiting.version, 'unless it is named');
});

test('each visitor as of its last hit, as its page was told, with the time', async (t) => {
	const { aid, vids, at, clock, score } = await withVisitors(t);
	clock.nowMs += 5 * hourMs;
	const flags = ['--goal', 'subscription', '--each-at-its-last-hit'];
	const lines = (await score(...flags)) as (Line & { at: string })[];
	assert.deepEqual(
		lines.map(({ vid, at }) => [vid, Date.parse(at)]),
		vids.map((vid, index) => [vid, beganMs + index * hourMs]),
	);
	const csv = (await caskade(['score', aid, ...flags, '--format', 'csv', ...at])).stdout;
	assert.match(csv, /^vid,goal,score,percentile,band,model,at\n[0-9a-f]{32},subscription,.*,2\d{3}-.*Z\n/);
	// Two visitors have seen the same page, hours apart: at their hits they were alike.
	assert.equal(lines[0]?.score, lines[2]?.score);
});

test('the latest visit of each visitor, and what raises or lowers a score', async (t) => {
	const { aid, vids, at, hit, score } = await withVisitors(t);
	const { sid } = await hit({ vid: vids[0] as string, url: 'https://shop.example/pricing' });
	const visits = (await score('--scope', 'sid', '--goal', 'subscription')) as (Line & { sid: string })[];
	assert.deepEqual(
		visits.map(({ vid }) => vid),
		vids,
	);
	assert.equal(visits[0]?.sid, sid);
	assert.equal(new Set(visits.map((visit) => visit.sid)).size, 3);
	const explained = (await score('--goal', 'subscription', '--explain')) as (Line & { reasons: unknown[] })[];
	const [most] = explained.toSorted((a, b) => b.score - a.score);
	assert.ok((most?.reasons.length ?? 0) > 0);
	assert.ok(explained.every(({ reasons }) => Array.isArray(reasons)));
	const csv = (await caskade(['score', aid, '--explain', '--format', 'csv', ...at])).stdout;
	assert.match(csv, /^vid,goal,score,percentile,band,model,reasons\n/);
});

test('scores listed visitors, by their names in another system', async (t) => {
	const { aid, vids, at, folder, score } = await withVisitors(t);
	const path = join(folder, 'visitors');
	const unknown = 'f'.repeat(32);
	writeFileSync(
		path,
		`${JSON.stringify({ visitor: 'crm "7", x', vid: vids[2] })}\r\n\n${unknown}\n${vids[1]}\n`,
	);
	const flags = ['--goal', 'subscription', '--visitors', path];
	const all = await score('--goal', 'subscription');
	assert.deepEqual(await score(...flags), [{ visitor: 'crm "7", x', ...all[2] }, all[1]]);
	const { stdout, stderr } = await caskade(['score', aid, ...flags, '--format', 'csv', ...at]);
	assert.match(stdout, /^visitor,vid,goal,.*\n"crm ""7"", x",.*\n,[0-9a-f]{32},subscription,/);
	assert.equal(stderr, `1 of the 3 visitors in ${path} were not known then, and are left out.\n`);
	assert.deepEqual(
		await caskadeJson([
			'score',
			aid,
			...flags.slice(0, 2),
			'--model',
			'prior',
			'--as-of',
			'2001-01-01',
			...at,
		]),
		[],
	);
	writeFileSync(path, `${vids[1]}\nnobody\n`);
	assertRefused(await caskade(['score', aid, ...flags, ...at]), /visitors, line 2: it must be a vid/);
	assertRefused(
		await caskade(['score', aid, '--visitors', join(folder, 'none'), ...at]),
		/cannot be read: ENOENT/,
	);
});

test('contradictory options are refused', async (t) => {
	const address = `sqlite:${(await startService(t)).folder}`;
	const score = (...args: string[]) => caskade(['score', ...args, '--database', address]);
	assertRefused(await score('c-a-nobody'), /no account c-a-nobody/);
	assertRefused(await score('c-a-acme-uk', '--goal', 'x'), /has no goal x/);
	assertRefused(await score('c-a-acme-uk', '--model', '1'), /name the goal with --goal/);
	assertRefused(await score('c-a-acme-uk', '--goal', 'return', '--model', '1'), /no model 1 of goal return/);
	for (const time of ['yesterday', '2026-13-01', '2026-11-01T12:00', '12', '1999'])
		assertMisused(await score('c-a-acme-uk', '--as-of', time), /must be a date or time/);
	assertMisused(await score('c-a-acme-uk', '--as-of', '2999-01-01'), /in the past/);
	const store = await openStore(address);
	t.after(() => store.close());
	const { stdout } = await score('c-a-acme-uk', '--format', 'csv');
	assert.equal(stdout, 'vid,goal,score,percentile,band,model\n');
});
