import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { trainedOnVisitors } from '../../../capabilities/training/made-up-profiles.ts';
import { caskadeJson } from '../../../process.ts';
import { startService, type TestService } from '../../../support.ts';

/** Generous for busy machines. */
const patienceMs = 300_000;

interface Score {
	readonly goal: string;
	readonly score: number;
	readonly percentile: number;
	readonly model: string;
	readonly reasons?: readonly string[];
}

/** A service with a stored, inactive model of each kind, and the cask of a visitor. */
async function withModels(t: Parameters<typeof startService>[0]) {
	// The model counts the time between hits and since: a clock that stands still gives the same scores every time.
	const clock = { nowMs: Date.UTC(2026, 10, 22, 9) };
	const service = await startService(t, { now: () => clock.nowMs });
	const { store, aid, hit, folder } = service;
	const { id } = await store.control.account(aid);
	const versions: string[] = [];
	for (const kind of ['logistic', 'boosting'] as const) {
		const { model, report } = trainedOnVisitors(kind);
		const texts = { body: JSON.stringify(model), report: JSON.stringify(report) };
		versions.push(
			(await store.control.insertModel(id, { goal: 'subscription', scope: 'vid', ...texts })).version,
		);
	}
	await store.control.updateAccount(aid, { explains: true });
	await service.server.directory.refresh();
	const { vid } = await hit({ url: 'https://shop.example/pricing' });
	clock.nowMs += 60_000;
	const { cask } = await hit({ vid, url: 'https://shop.example/blog' });
	const at = ['--database', `sqlite:${folder}`];
	return { ...service, accountId: id, versions: versions as [string, string], vid, cask, at };
}

async function subscriptionScore({ url }: TestService, cask: string, more = ''): Promise<Score> {
	const answer = await fetch(`${url}/visscores?cask=${cask}${more}`);
	assert.equal(answer.status, 200);
	const { scores } = (await answer.json()) as { scores: Score[] };
	return scores.find(({ goal }) => goal === 'subscription') as Score;
}

/** Reads until the model is served. */
async function served(service: TestService, cask: string, model: string): Promise<Score> {
	const began = performance.now();
	for (;;) {
		const score = await subscriptionScore(service, cask, '&explain=1');
		if (score.model === model) return score;
		assert.ok(performance.now() - began < patienceMs, `${model} is not served, but ${score.model}`);
		await delay(20);
	}
}

test('a running server uses a model that another process activates, and returns to an earlier one', async (t) => {
	const service = await withModels(t);
	const { aid, cask, versions, at } = service;
	const [first, second] = versions;
	assert.equal((await subscriptionScore(service, cask)).model, 'prior');
	for (const version of [first, second, first, 'prior']) {
		await caskadeJson(['model', 'use', aid, 'subscription', version, ...at]);
		const began = performance.now();
		const { score, reasons } = await served(service, cask, version);
		t.diagnostic(`${version} is served after ${Math.round(performance.now() - began)} ms`);
		assert.ok(score > 0 && score < 1);
		if (version === 'prior') assert.deepEqual(reasons, []);
		if (version === first)
			assert.ok(
				reasons?.some((reason) => reason.startsWith('viewed pricing')),
				`${reasons}`,
			);
		assert.equal((await subscriptionScore(service, cask)).reasons, undefined);
	}
});

test('a model that cannot be applied is no error: the base rate is served, and the log says why', async (t) => {
	const service = await withModels(t);
	const { store, aid, accountId, cask, server, logged, at } = service;
	const { version } = await store.control.insertModel(accountId, {
		goal: 'subscription',
		scope: 'vid',
		body: '{"format":99}',
		report: '{}',
	});
	await store.control.activateModel(accountId, { goal: 'subscription', scope: 'vid', version });
	await server.directory.refresh();
	assert.equal((await subscriptionScore(service, cask)).model, 'prior');
	assert.ok(
		logged.some((line) => line.includes(`model ${version} cannot be applied`)),
		logged.join('\n'),
	);
	assert.equal((await fetch(`${service.url}/visscores/segments?cask=${cask}`)).status, 200);
	await caskadeJson(['segment', 'test', aid, '--rule', 'visitor.hits > 0', ...at]);
});

test('changed bands apply in a running server', async (t) => {
	const service = await withModels(t);
	const { aid, cask, at, url } = service;
	await subscriptionScore(service, cask);
	await caskadeJson(['goal', 'update', aid, 'subscription', '--bands', '10,20', ...at]);
	const began = performance.now();
	for (;;) {
		const answer = await fetch(`${url}/visscores?cask=${cask}`);
		if ((await answer.text()).includes('"percentile":50,"band":"high"')) return;
		assert.ok(performance.now() - began < patienceMs);
		await delay(20);
	}
});
