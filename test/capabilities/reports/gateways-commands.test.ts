import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addDays } from '../../../src/kit/reports/calendar.ts';
import { openFor } from '../../core/store/engines.ts';
import { assertMisused, assertRefused, caskade, caskadeJson } from '../../process.ts';
import { temporaryFolder } from '../../support.ts';
import { storeMailing } from './made-up-mailing.ts';

const aid = 'c-a-acme-uk';

test('commands that count visitors leave mail gateways out, say so, and count them where --include asks for them', async (t) => {
	const at = ['--database', `sqlite:${temporaryFolder(t)}`];
	await caskadeJson(['account', 'create', aid, '--client', 'acme', ...at]);
	const byMail = ['--name', 'By mail', '--rule', '"email" in visitor.channels'];
	await caskadeJson(['segment', 'create', aid, 'by-mail', ...byMail, ...at]);
	const store = await openFor(t, at[1] as string);
	await storeMailing(store, (await store.control.account(aid)).id);
	await store.close();
	const both = async (...args: string[]) => {
		const flags = ['--include', 'gateways'];
		return Promise.all([caskade([...args, ...at]), caskade([...args, ...flags, ...at])]);
	};
	const leftOut = /400 visitors are left out who are mail gateways/;

	const [report, reportOfAll] = await both('report', 'attribution', aid);
	// A hit that tells nothing is no arrival.
	assert.match(report.stdout, /^40 visitors came, with /m);
	assert.match(report.stdout, leftOut);
	assert.match(reportOfAll.stdout, /^440 visitors came, with /m);
	assert.doesNotMatch(reportOfAll.stdout, leftOut);

	const [counted, countedAll] = await both('segment', 'test', aid, 'by-mail');
	assert.match(counted.stdout, /^40 of 41 visitors match/);
	assert.match(counted.stdout, leftOut);
	assert.match(counted.stdout, /add --include gateways\.\n$/);
	assert.match(countedAll.stdout, /^440 of 441 visitors match/);
	const json = (await caskadeJson(['segment', 'test', aid, 'by-mail', ...at])) as Record<string, unknown>;
	assert.deepEqual([json.visitors, json.matching, json.gatewayVisitors], [41, 40, 400]);

	const [members, allMembers] = await both('segment', 'members', aid, 'by-mail');
	assert.deepEqual(
		[members, allMembers].map(({ stdout }) => stdout.trim().split('\n').length),
		[40, 440],
	);
	assert.match(members.stderr, leftOut, 'beside the list, which is for programs');
	assert.equal(((await caskadeJson(['segment', 'members', aid, 'by-mail', ...at])) as string[]).length, 40);

	const vid = allMembers.stdout.split('\n').find((each) => each.startsWith('b')) as string;
	assert.match((await caskade(['visitor', 'show', aid, vid, ...at])).stdout, /This is a mail gateway/);
	const reader = members.stdout.slice(0, 32);
	assert.doesNotMatch((await caskade(['visitor', 'show', aid, reader, ...at])).stdout, /mail gateway/);

	const [plan, planOfAll] = await both('experiment', 'plan', aid, '--segment', 'by-mail');
	assert.match(plan.stdout, leftOut);
	assert.match(plan.stdout, /10(\.0)? % of them reached subscription/);
	assert.doesNotMatch(planOfAll.stdout, leftOut);

	const today = Temporal.Now.plainDateISO('UTC').toString();
	const dated = ['--from', addDays(today, -20), '--to', addDays(today, 1)];
	const [activity, activityOfAll] = await both('report', 'activity', aid, '--every', 'month', ...dated);
	assert.notEqual(activity.stdout, activityOfAll.stdout);
	const [lift] = await both('report', 'lift', aid, 'none');
	assertRefused(lift, /There is no experiment none/);
});

test('other values, and reports that count no visitors, are refused by the name of the flag', async (t) => {
	const at = ['--database', `sqlite:${temporaryFolder(t)}`];
	await caskadeJson(['account', 'create', aid, '--client', 'acme', ...at]);
	for (const args of [
		['report', 'attribution', aid],
		['segment', 'test', aid, 'new'],
		['segment', 'members', aid, 'new'],
		['experiment', 'plan', aid, '--segment', 'new'],
		['report', 'lift', aid, 'offer'],
	])
		assertMisused(
			await caskade([...args, '--include', 'machines', ...at]),
			/'machines' is invalid as --include\. .*gateways/,
		);
	assertRefused(
		await caskade(['report', 'ltv', aid, '--include', 'gateways', ...at]),
		/The report ltv does not use --include/,
	);
});
