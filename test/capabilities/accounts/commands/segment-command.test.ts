import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { openStore } from '../../../../src/assembly/open-store.ts';
import { type Profile, profileOf } from '../../../../src/core/domain/profile.ts';
import { defaultSegments } from '../../../../src/core/domain/segment.ts';
import { dayMs } from '../../../../src/core/durations.ts';
import { hit } from '../../../core/domain/log.ts';
import { storeVisitors } from '../../../core/segments/stored-visitors.ts';
import { assertMisused, assertRefused, caskade, caskadeJson } from '../../../process.ts';
import { temporaryFolder } from '../../../support.ts';

const aid = 'c-a-acme-uk';

/** A data folder with the account, and a visitor for each profile. */
async function accountWith(t: TestContext, profiles: readonly (Profile | null)[]): Promise<string[]> {
	const folder = temporaryFolder(t);
	const at = ['--database', `sqlite:${folder}`];
	await caskadeJson(['account', 'create', aid, '--client', 'acme', ...at]);
	const store = await openStore(`sqlite:${folder}`);
	await storeVisitors(store, 1, profiles);
	await store.close();
	return at;
}

function byId(a: { id: string }, b: { id: string }): number {
	return a.id < b.id ? -1 : 1;
}

test('segment create, list, delete', async (t) => {
	const at = await accountWith(t, []);
	const buyers = { id: 'buyers', name: 'Buyers, of late', rule: 'visitor.daysSinceSubscription < 30' };
	const flags = ['--name', buyers.name, '--rule', buyers.rule];
	assert.deepEqual(await caskadeJson(['segment', 'create', aid, 'buyers', ...flags, ...at]), buyers);
	const listed = (await caskadeJson(['segment', 'list', aid, ...at])) as { id: string }[];
	assert.deepEqual(listed.toSorted(byId), [...defaultSegments, buyers].toSorted(byId));
	assertRefused(
		await caskade(['segment', 'create', aid, 'buyers', ...flags, ...at]),
		/has a segment buyers already/,
	);
	assert.deepEqual(await caskadeJson(['segment', 'delete', aid, 'buyers', ...at]), { deleted: 'buyers' });
	assertRefused(await caskade(['segment', 'delete', aid, 'buyers', ...at]), /has no segment buyers/);
});

test('segment update changes name or rule', async (t) => {
	const at = await accountWith(t, []);
	const update = (...args: string[]) => ['segment', 'update', aid, ...args, ...at];
	const engaged = defaultSegments.find(({ id }) => id === 'engaged');
	const renamed = { ...engaged, name: 'Keen visitors' };
	assert.deepEqual(await caskadeJson(update('engaged', '--name', renamed.name)), renamed);
	const changed = { ...renamed, rule: 'visitor.pages >= 20' };
	assert.deepEqual(await caskadeJson(update('engaged', '--rule', changed.rule)), changed);
	const listed = (await caskadeJson(['segment', 'list', aid, ...at])) as { id: string }[];
	assert.deepEqual(
		listed,
		defaultSegments.map((segment) => (segment.id === 'engaged' ? changed : segment)),
	);
	assertRefused(await caskade(update('engaged')), /nothing to change: set --name or --rule\.$/m);
	assertRefused(await caskade(update('none', '--name', 'N')), /has no segment none/);
	assert.match((await caskade(update('engaged', '--rule', 'visitor.devise'))).stderr, /no fact of this name/);
	assert.deepEqual(await caskadeJson(['segment', 'list', aid, ...at]), listed);
});

test('segment members lists who matches now, as caskade score takes them', async (t) => {
	const nowMs = Date.now();
	const once = profileOf([hit(nowMs - dayMs)]);
	const twice = profileOf([hit(nowMs - 2 * dayMs), hit(nowMs - dayMs, { sid: 'b'.repeat(32) })]);
	const at = await accountWith(t, [once, twice, once, twice]);
	const members = (await caskadeJson(['segment', 'members', aid, 'returning', ...at])) as string[];
	assert.equal(members.length, 2);
	const { stdout } = await caskade(['segment', 'members', aid, 'returning', ...at]);
	assert.equal(stdout, members.map((vid) => `${vid}\n`).join(''));
	const { profile } = (await caskadeJson(['visitor', 'show', aid, members[0] as string, ...at])) as {
		profile: Profile;
	};
	assert.equal(profile.visits, 2);
	const file = join(temporaryFolder(t), 'members');
	writeFileSync(file, stdout);
	const scored = await caskade(['score', aid, '--goal', 'return', '--visitors', file, ...at]);
	assert.deepEqual(
		scored.stdout
			.trim()
			.split('\n')
			.map((line) => JSON.parse(line).vid),
		members,
	);
	assertRefused(await caskade(['segment', 'members', aid, 'none', ...at]), /has no segment none/);
	assert.deepEqual(await caskadeJson(['segment', 'members', aid, 'subscriber', ...at]), []);
});

test('segment create refuses an invalid rule with its place, and stores nothing', async (t) => {
	const at = await accountWith(t, []);
	const create = (rule: string) =>
		caskade(['segment', 'create', aid, 'mine', '--name', 'Mine', '--rule', rule, ...at]);
	const misspelt = await create('visitor.visits > 1 && visitor.devise == "mobile"');
	assert.equal(misspelt.code, 1);
	assert.equal(
		misspelt.stderr,
		[
			'caskade: There is no fact of this name: devise (line 1, column 31)',
			'  visitor.visits > 1 && visitor.devise == "mobile"',
			`  ${' '.repeat(30)}^`,
			'',
		].join('\n'),
	);
	const noGoal = await create('scores.sale > 0.5');
	assert.match(noGoal.stderr, /no goal 'sale'; its goals are subscription, return, renewal/);
	assert.equal((await caskade(['segment', 'list', aid, ...at])).stdout.includes('mine'), false);
});

test('an invalid id, name or account is refused', async (t) => {
	const at = await accountWith(t, []);
	const create = (id: string, name: string, account = aid) =>
		caskade(['segment', 'create', account, id, '--name', name, '--rule', 'true', ...at]);
	assertMisused(await create('not an id', 'Name'), /letters, digits, dots/);
	assertMisused(await create('id', ' '), /1 to 100 characters/);
	assertMisused(await create('id', 'a\tb'), /without control characters/);
	assertRefused(await create('id', 'Name', 'c-a-nobody'), /c-a-nobody/);
});

test('segment test counts the matches of a rule or a segment', async (t) => {
	const nowMs = Date.now();
	const once = profileOf([hit(nowMs - dayMs)]);
	const twice = profileOf([hit(nowMs - 2 * dayMs), hit(nowMs - dayMs, { sid: 'b'.repeat(32) })]);
	const at = await accountWith(t, [once, twice, once]);
	const rule = 'visitor.visits == 1 && "pricing" in visitor.pages7d';
	assert.deepEqual(await caskadeJson(['segment', 'test', aid, '--rule', rule, ...at]), {
		rule,
		visitors: 3,
		matching: 2,
		share: 2 / 3,
	});
	const { stdout, stderr } = await caskade(['segment', 'test', aid, 'returning', ...at]);
	assert.equal(stdout, '1 of 3 visitors match (33.3 %): visitor.visits >= 2\n');
	assert.match(stderr, /testing c-a-acme-uk: 3 of 3 visitors/);
	const byScore = [
		'segment',
		'test',
		aid,
		'--rule',
		'bands["return"] != "low" && scores["return"] > 0.0',
		...at,
	];
	assert.match((await caskade(byScore)).stdout, /^3 of 3 visitors match/);
	assertRefused(await caskade(['segment', 'test', aid, ...at]), /Set either an ID or --rule/);
	assertRefused(await caskade(['segment', 'test', aid, 'nothing', ...at]), /has no segment nothing/);
});
