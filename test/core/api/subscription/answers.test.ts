import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addClient, event, serveAt, temporaryFolder } from '../../../support.ts';
import { openStore } from '../../../whole.ts';

test('answers to uploads are counted by cause, and problems are kept without what was sent', async (t) => {
	const database = `sqlite:${temporaryFolder(t)}`;
	const store = await openStore(database, {});
	t.after(() => store.close());
	const { aid, key } = await addClient(store);
	const server = await serveAt(database);
	t.after(() => server.stop());
	const send = (body: unknown) =>
		fetch(`${server.url}/subscription`, {
			method: 'POST',
			headers: { 'content-type': 'application/json', 'x-api-key': key },
			body: JSON.stringify(body),
		});
	const answers: number[] = [];
	for (const body of [
		{ aid, data: [event({ tid: 'T-1', rvn: 5 })] },
		{ aid, data: [event({ tid: 'T-1', rvn: 6 }), event({ tid: 'T-2' })] },
		{ aid, data: [event({ tid: 'T-3' })], simulate: true },
		{ aid, data: [{ tid: 'secret-tid', evt: 'newsletter' }] },
		{ aid: 'c-a-foreign', data: [event()] },
	])
		answers.push((await send(body)).status);
	assert.deepEqual(answers, [201, 201, 200, 400, 400]);
	await server.stop();
	const known = (await store.control.accessSnapshot()).accounts.get(aid);
	const clientId = known?.clientId ?? 0;
	const counted = await store.control.uploadAnswers.byDay(
		clientId,
		aid,
		['2026-01-01', '2100-01-01'],
		() => '2026-01-01',
	);
	assert.deepEqual(
		counted.map((one) => [one.aid, one.cause, one.requests]).sort((a, b) => (`${a[1]}` < `${b[1]}` ? -1 : 1)),
		[
			[aid, 'conflict', 1],
			[null, 'invalid_account', 1],
			[aid, 'invalid_request', 1],
			[aid, 'simulated', 1],
			[aid, 'stored', 1],
		],
	);
	const problems = (await store.control.uploadAnswers.problems(clientId, aid)).toSorted((a, b) =>
		a.cause < b.cause ? -1 : 1,
	);
	assert.deepEqual(
		problems.map(({ aid: of, cause }) => [of, cause]),
		[
			[aid, 'conflict'],
			[null, 'invalid_account'],
			[aid, 'invalid_request'],
		],
	);
	assert.equal(problems[0]?.detail, 'rows 0 of data');
	assert.match(problems[2]?.detail ?? '', /data\[0\]\.subid is required/);
	assert.doesNotMatch(JSON.stringify(problems), /secret-tid|T-1/);
});
