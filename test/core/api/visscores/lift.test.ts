import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { LiftModel, LogisticModel } from '../../../../src/core/scoring/model/model.ts';
import { trainedOnVisitors } from '../../../capabilities/training/made-up-profiles.ts';
import { startService } from '../../../support.ts';

/** Says that being treated raises the log-odds of everybody by this much. */
function raisedBy(logOdds: number): LiftModel {
	const { model } = trainedOnVisitors('logistic') as { model: LogisticModel };
	const { weights, format, features, baseRate } = model;
	const treated = { ...model, weights: { ...weights, intercept: weights.intercept + logOdds } };
	return { format, features, baseRate, kind: 'lift', method: 'two models', parts: [treated, model] };
}

const patienceMs = 300_000;

test('a score carries lift only while a model of lift is active, and only of a visitor', async (t) => {
	const service = await startService(t);
	const { store, aid, hit, url, server } = service;
	const { id } = await store.control.account(aid);
	const about = { name: 'Persuadable', rule: 'lift("subscription") > 0.001' };
	await store.control.createSegment(id, { id: 'persuadable', ...about });
	const { vid, cask } = await hit({ url: 'https://shop.example/pricing' });
	const ofVisit = await hit({ vid, url: 'https://shop.example/pricing' }, {}, '?scope=sid');
	const scoreOf = async (access: string) => {
		const answer = await fetch(`${url}/visscores?cask=${access}`);
		assert.equal(answer.status, 200);
		const { scores } = (await answer.json()) as { scores: { goal: string; lift?: number }[] };
		return scores.find(({ goal }) => goal === 'subscription') as { lift?: number };
	};
	const segmentsOf = async (access: string) => {
		const answer = await fetch(`${url}/visscores/segments?cask=${access}`);
		const { segments } = (await answer.json()) as { segments: { id: string }[] };
		return segments.map((segment) => segment.id);
	};
	/** Reads until a new model is served, or none any more. */
	const liftOf = async (isExpected: boolean) => {
		const began = performance.now();
		for (;;) {
			const { lift } = await scoreOf(cask);
			if ((lift !== undefined) === isExpected) return lift;
			assert.ok(performance.now() - began < patienceMs, `lift ${lift}`);
			await delay(20);
		}
	};
	assert.equal(await liftOf(false), undefined);
	assert.ok(!(await segmentsOf(cask)).includes('persuadable'));
	const insert = (logOdds: number) =>
		store.control.insertModel(
			id,
			{ goal: 'subscription', scope: 'lift', body: JSON.stringify(raisedBy(logOdds)), report: '{}' },
			'activate it',
		);
	await insert(1);
	await server.directory.refresh();
	const lift = await liftOf(true);
	assert.ok(lift !== undefined && lift > 0.001 && lift < 0.3, `${lift}`);
	assert.deepEqual(Object.keys(await scoreOf(cask)).slice(0, 4), ['goal', 'score', 'lift', 'percentile']);
	assert.ok((await segmentsOf(cask)).includes('persuadable'));
	assert.ok(!('lift' in (await scoreOf(ofVisit.cask))));
	assert.ok(!(await segmentsOf(ofVisit.cask)).includes('persuadable'));
	const answer = await service.sendHit({ vid, url: 'https://shop.example/' }, {}, '?include=scores');
	assert.match(await answer.text(), /"lift":0\.\d+/);

	await store.control.activateModel(id, { goal: 'subscription', scope: 'lift', version: null });
	await server.directory.refresh();
	assert.equal(await liftOf(false), undefined);
});

test('a model of lift that cannot be applied is no error: nobody has a lift, and the log says why', async (t) => {
	const { store, aid, hit, url, server, logged } = await startService(t);
	const { id } = await store.control.account(aid);
	const broken = { ...raisedBy(1), parts: [] };
	await store.control.insertModel(
		id,
		{ goal: 'subscription', scope: 'lift', body: JSON.stringify(broken), report: '{}' },
		'activate it',
	);
	await server.directory.refresh();
	const { cask } = await hit();
	const answer = await fetch(`${url}/visscores?cask=${cask}`);
	assert.equal(answer.status, 200);
	assert.doesNotMatch(await answer.text(), /lift/);
	assert.ok(logged.some((line) => line.includes('a lift model without parts')));
});
