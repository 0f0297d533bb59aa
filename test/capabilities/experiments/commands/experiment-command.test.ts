import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertRefused, caskade, caskadeJson } from '../../../process.ts';
import { temporaryFolder } from '../../../support.ts';

const aid = 'c-a-acme-uk';

test('experiment create, list, stop; the secret is never shown', async (t) => {
	const at = ['--database', `sqlite:${temporaryFolder(t)}`];
	await caskadeJson(['account', 'create', aid, '--client', 'acme', ...at]);
	const create = (name: string, ...flags: string[]) => ['experiment', 'create', aid, name, ...flags, ...at];
	const created = (await caskadeJson(create('offer', '--segment', 'high-intent', '--to', '2999-01-01'))) as {
		from: string;
	};
	assert.ok(Math.abs(Date.parse(created.from) - Date.now()) < 60_000);
	const shown = {
		name: 'offer',
		segment: 'high-intent',
		goal: 'subscription',
		holdoutPercent: 10,
		state: 'running',
	};
	assert.deepEqual(created, {
		...shown,
		from: created.from,
		to: '2999-01-01T00:00:00.000Z',
		stoppedAt: null,
	});
	assert.deepEqual(await caskadeJson(['experiment', 'list', aid, ...at]), [created]);
	assertRefused(await caskade(create('other', '--segment', 'none')), /has no segment none/);
	assertRefused(await caskade(create('other', '--segment', 'new', '--goal', 'none')), /has no goal none/);
	assertRefused(
		await caskade(create('other', '--segment', 'new', '--to', '2026-01-01')),
		/--to must be later/,
	);
	assertRefused(
		await caskade(create('other', '--segment', 'new', '--from', '2026-01-01')),
		/--from cannot be in the past/,
	);
	assertRefused(
		await caskade(['segment', 'update', aid, 'high-intent', '--rule', 'true', ...at]),
		/The experiment offer is about the segment high-intent; 'caskade experiment stop AID offer' ends it/,
	);
	const stopped = (await caskadeJson(['experiment', 'stop', aid, 'offer', ...at])) as { state: string };
	assert.equal(stopped.state, 'ended');
	const planned = (await caskadeJson(
		create('next', '--segment', 'new', '--from', '2998-01-01'),
	)) as typeof stopped;
	assert.equal(planned.state, 'planned');
});
