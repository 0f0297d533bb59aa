import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openAccount } from '../../../shared-server.ts';
import { duplicateHeaders, event } from '../../../support.ts';

const simulated = '{"message":"Subscription simulated successfully.","validationErrors":null}';

test('a simulated request is answered like a real one, and stores nothing', async () => {
	const service = await openAccount();
	const data = [event(), event()];
	const answer = await service.upload({ aid: service.aid, data, simulate: true });
	assert.equal(answer.status, 200);
	assert.equal(await answer.text(), simulated);
	assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8');
	assert.equal(answer.headers.get('x-events-stored'), '2');
	assert.equal(answer.headers.get('x-events-duplicate'), '0');
	assert.match(answer.headers.get('x-request-id') ?? '', /^[0-9a-f-]{36}$/);
	assert.match(answer.headers.get('ratelimit') ?? '', /^"rate";r=\d+, "quota";r=\d+;t=\d+$/);
	assert.deepEqual(await service.stored(), []);
});

test('a simulated event is still new to a real request', async () => {
	const service = await openAccount();
	const data = [event()];
	for (let count = 0; count < 2; count++) await service.upload({ aid: service.aid, data, simulate: true });
	const answer = await service.upload({ aid: service.aid, data });
	assert.equal(answer.status, 201);
	assert.equal(answer.headers.get('x-events-stored'), '1');
	assert.equal(answer.headers.get('x-events-duplicate'), '0');
});

test('counts duplicates of stored events and within the request', async () => {
	const service = await openAccount();
	const sale = event();
	await service.upload({ aid: service.aid, data: [sale] });
	const twice = event();
	const answer = await service.upload({
		aid: service.aid,
		data: [sale, twice, twice, event()],
		simulate: true,
	});
	assert.equal(answer.status, 200);
	assert.equal(answer.headers.get('x-events-stored'), '2');
	assert.deepEqual(duplicateHeaders(answer), {
		duplicate: '2',
		conflicting: '0',
		duplicateRows: '0,2',
		conflictingRows: null,
	});
	assert.equal((await service.stored()).length, 1);
});

test('a simulated conflict does not change the stored event', async () => {
	const service = await openAccount();
	const sale = event({ rvn: 1 });
	await service.upload({ aid: service.aid, data: [sale] });
	const before = await service.stored();
	const answer = await service.upload({ aid: service.aid, data: [{ ...sale, rvn: 2 }], simulate: true });
	assert.equal(answer.status, 200);
	assert.deepEqual(duplicateHeaders(answer), {
		duplicate: '1',
		conflicting: '1',
		duplicateRows: '0',
		conflictingRows: '0',
	});
	assert.deepEqual(await service.stored(), before);
});

test('concurrent simulated and real requests do not affect each other', async () => {
	const service = await openAccount();
	const answers = await Promise.all(
		Array.from({ length: 40 }, (_, index) =>
			service.upload({ aid: service.aid, data: [event({ tid: `T-${index}` })], simulate: index % 2 === 0 }),
		),
	);
	assert.deepEqual(
		answers.map(({ status }) => status),
		answers.map((_, index) => (index % 2 === 0 ? 200 : 201)),
	);
	assert.deepEqual(
		(await service.stored()).map(({ tid }) => tid).sort(),
		answers
			.map((_, index) => `T-${index}`)
			.filter((_, index) => index % 2 === 1)
			.sort(),
	);
});

test('a simulated request is validated like a real one', async () => {
	const service = await openAccount();
	const upload = (fields: object) =>
		service.upload({ aid: service.aid, data: [event()], simulate: true, ...fields });
	for (const wrong of [{ data: [event({ tid: '' })] }, { aid: 'c-a-unknown' }, { data: [] }])
		assert.equal((await upload(wrong)).status, 400);
	assert.equal((await upload({})).status, 200);
});
