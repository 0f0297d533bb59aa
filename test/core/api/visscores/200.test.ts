import assert from 'node:assert/strict';
import { test } from 'node:test';
import { issueCask } from '../../../../src/core/access/cask.ts';
import { dayMs } from '../../../../src/core/durations.ts';
import { openAccount } from '../../../shared-server.ts';
import { startService } from '../../../support.ts';

const noonMs = Date.UTC(2026, 10, 21, 12);
const ofNobody = '0123456789abcdef0123456789abcdef';

/** The default goals before training: 0.02 with the weight of 50 visitors, one of whom is known. */
const priorScores =
	'[{"goal":"subscription","score":0.02,"percentile":50,"band":"medium","model":"prior"},{"goal":"return","score":0.02,"percentile":50,"band":"medium","model":"prior"}]';

test('returns one score per goal, from the base rate until a model is trained', async (t) => {
	const { url, hit } = await startService(t, { now: () => noonMs });
	const { vid, cask } = await hit();
	const answer = await fetch(`${url}/visscores?cask=${cask}`);
	assert.equal(answer.status, 200);
	assert.equal(
		await answer.text(),
		`{"aid":"c-a-acme-uk","vid":"${vid}","scores":${priorScores},"scoredAt":"2026-11-21T12:00:00.000Z","expiresAt":"2026-11-22T12:00:00.000Z"}`,
	);
	assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8');
	assert.equal(answer.headers.get('cache-control'), 'private, no-store');
	assert.match(answer.headers.get('x-request-id') ?? '', /^[0-9a-f-]{36}$/);
});

test('aid and vid may be given, and other parameters are ignored', async () => {
	const { url, hit, aid } = await openAccount();
	const { vid, cask } = await hit();
	for (const more of [`&aid=${aid}`, `&vid=${vid}`, `&aid=${aid}&vid=${vid}`, '&colour=red'])
		assert.equal((await fetch(`${url}/visscores?cask=${cask}${more}`)).status, 200, more);
});

test('the cask of a visit reads that visit only', async (t) => {
	const clock = { nowMs: noonMs };
	const { url, hit, aid } = await startService(t, { now: () => clock.nowMs });
	const first = await hit();
	clock.nowMs += dayMs;
	const { sid, cask } = await hit({ vid: first.vid }, {}, '?scope=sid');
	const answer = await fetch(`${url}/visscores?cask=${cask}&aid=${aid}&sid=${sid}`);
	assert.equal(answer.status, 200);
	const body = (await answer.json()) as Record<string, unknown>;
	assert.deepEqual(Object.keys(body), ['aid', 'sid', 'scores', 'scoredAt', 'expiresAt']);
	assert.equal(body.sid, sid);
	// Nobody was known a horizon ago, and the visitor's return says nothing about how many return within one.
	const rate = ({ scores }: { scores?: unknown }) =>
		(scores as { score: number }[]).map(({ score }) => score);
	assert.deepEqual(rate(body), [0.02, 0.02]);
	const whole = await hit({ vid: first.vid }, {}, '?include=scores');
	assert.deepEqual(rate(whole), [0.02, 0.02]);
});

test('a score has reasons only if the account allows it and the request asks for them', async () => {
	const { url, hit, store, directory, aid } = await openAccount();
	const { cask } = await hit();
	const reasons = async (more: string) => {
		const answer = await fetch(`${url}/visscores?cask=${cask}${more}`);
		return ((await answer.json()) as { scores: { reasons?: unknown }[] }).scores.map(
			(score) => score.reasons,
		);
	};
	assert.deepEqual(await reasons('&explain=1'), [undefined, undefined]);
	await store.control.updateAccount(aid, { explains: true });
	await directory.refresh();
	// The base rate has no reasons.
	assert.deepEqual(await reasons('&explain=1'), [[], []]);
	for (const more of ['', '&explain=0', '&explain=true', '&explain=1&explain=1'])
		assert.deepEqual(await reasons(more), [undefined, undefined], more);
});

test('the list is empty for a bot and an unknown visitor', async () => {
	const { url, hit, directory, aid } = await openAccount();
	const scores = async (cask: string) => {
		const answer = await fetch(`${url}/visscores?cask=${cask}`);
		assert.equal(answer.status, 200);
		return ((await answer.json()) as { scores: unknown }).scores;
	};
	assert.deepEqual(await scores((await hit({}, { 'user-agent': 'Googlebot/2.1' })).cask), []);
	const of = { aid, scope: 'vid', subject: ofNobody } as const;
	assert.deepEqual(await scores(issueCask(directory.signingKeys, of, Date.now()).cask), []);
});

test('HEAD answers like GET, without the body', async () => {
	const { url, hit } = await openAccount();
	const { cask } = await hit();
	const answer = await fetch(`${url}/visscores?cask=${cask}`, { method: 'HEAD' });
	assert.equal(answer.status, 200);
	assert.equal(await answer.text(), '');
	assert.ok(Number(answer.headers.get('content-length')) > 200);
	assert.equal(answer.headers.get('cache-control'), 'private, no-store');
});

test('OPTIONS tells pages of every origin what they may request', async () => {
	const { url } = await openAccount();
	const answer = await fetch(`${url}/visscores`, {
		method: 'OPTIONS',
		headers: { origin: 'https://acme.example', 'access-control-request-method': 'GET' },
	});
	assert.equal(answer.status, 204);
	assert.equal(answer.headers.get('access-control-allow-origin'), '*');
	assert.equal(answer.headers.get('access-control-allow-methods'), 'GET, HEAD');
	assert.equal(answer.headers.get('access-control-allow-credentials'), null);
	assert.equal(answer.headers.get('allow'), 'GET, HEAD, OPTIONS');
});

test('pages of every origin may read until the account names some', async () => {
	const { url, hit, store, directory, aid } = await openAccount();
	const { cask } = await hit();
	const allowed = async (origin?: string) => {
		const headers = origin === undefined ? {} : { origin };
		const answer = await fetch(`${url}/visscores?cask=${cask}`, { headers });
		assert.equal(answer.status, 200);
		assert.equal(answer.headers.get('access-control-allow-credentials'), null);
		return [answer.headers.get('access-control-allow-origin'), answer.headers.get('vary')];
	};
	assert.deepEqual(await allowed('https://anybody.example'), ['*', null]);
	await store.control.updateAccount(aid, { origins: ['https://acme.example', 'https://acme.test'] });
	await directory.refresh();
	assert.deepEqual(await allowed('https://acme.example'), ['https://acme.example', 'origin']);
	assert.deepEqual(await allowed('https://acme.test'), ['https://acme.test', 'origin']);
	assert.deepEqual(await allowed('https://acme.example.evil.test'), [null, 'origin']);
	assert.deepEqual(await allowed(), [null, 'origin']);
});

test('200 reads at once are not limited', async () => {
	const { url, hit } = await openAccount();
	const { cask } = await hit();
	const answers = await Promise.all(
		Array.from({ length: 200 }, () => fetch(`${url}/visscores?cask=${cask}`)),
	);
	assert.ok(answers.every(({ status }) => status === 200));
});
