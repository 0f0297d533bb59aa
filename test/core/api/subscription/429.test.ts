import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectTo, uploadHead } from '../../../raw-http.ts';
import { openAccount } from '../../../shared-server.ts';
import { event, startService } from '../../../support.ts';

const rateExceeded = '{"message":"Rate limit exceeded.","validationErrors":null}';
const quotaExceeded = '{"message":"Too Many Requests"}';

/** So slow that no second token arrives during a test. */
const once = { ratePerSecond: 0.001, burst: 1 };

test('a request above the rate is refused', async (t) => {
	const service = await startService(t, {
		plan: { ratePerSecond: 0.01, burst: 1, quotaPerMonth: 100 },
		now: () => Date.UTC(2026, 10, 21, 10),
	});
	assert.equal((await service.upload({ aid: service.aid, data: [event()] })).status, 201);
	const answer = await service.upload({ aid: service.aid, data: [event()] });
	assert.equal(answer.status, 429);
	assert.equal(await answer.text(), rateExceeded);
	assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8');
	assert.match(answer.headers.get('x-request-id') ?? '', /^[0-9a-f-]{36}$/);
	// One in 100 seconds, and the first was a moment ago.
	const retryAfter = Number(answer.headers.get('retry-after'));
	assert.ok(retryAfter > 90 && retryAfter <= 100, `retry-after: ${retryAfter}`);
	assert.equal(answer.headers.get('ratelimit-policy'), '"rate";q=1;w=100, "quota";q=100;w=2592000');
	assert.equal(answer.headers.get('ratelimit'), '"rate";r=0, "quota";r=99;t=828000');
	assert.equal((await service.stored()).length, 1);
});

test("the specification's limits are 10 a second and burst 1; waiting for retry-after is enough", async () => {
	const service = await openAccount({ ratePerSecond: 10, burst: 1 });
	const upload = () => service.upload({ aid: service.aid, data: [event()] });
	const startedAt = performance.now();
	let granted = 0;
	let refused: Response | undefined;
	while (performance.now() - startedAt < 600 || granted < 2 || !refused) {
		const answers = await Promise.all([upload(), upload(), upload()]);
		granted += answers.filter(({ status }) => status === 201).length;
		refused = answers.find(({ status }) => status !== 201) ?? refused;
	}
	const seconds = (performance.now() - startedAt) / 1000;
	assert.ok(granted <= 10 * seconds + 1, `${granted} in ${seconds} seconds`);
	assert.equal((await service.stored()).length, granted);

	assert.equal(refused.status, 429);
	assert.equal(refused.headers.get('retry-after'), '1');
	assert.match(refused.headers.get('ratelimit') ?? '', /^"rate";r=0, /);
	await new Promise((resolve) => setTimeout(resolve, Number(refused.headers.get('retry-after')) * 1000));
	assert.equal((await upload()).status, 201);
});

test('unused requests accumulate up to the burst', async () => {
	const service = await openAccount({ ratePerSecond: 0.001, burst: 3 });
	const statuses: number[] = [];
	for (let count = 0; count < 5; count++)
		statuses.push((await service.upload({ aid: service.aid, data: [event()] })).status);
	assert.deepEqual(statuses, [201, 201, 201, 429, 429]);
});

test('each key has its own rate and quota, even two keys of one client', async () => {
	const service = await openAccount({ ...once, quotaPerMonth: 1 });
	const second = await service.store.control.issueKey(service.client, service.planName);
	const other = await openAccount();
	const upload = (aid: string, key: string) => service.upload({ aid, data: [event()] }, { 'x-api-key': key });
	assert.equal((await upload(service.aid, service.key)).status, 201);
	assert.equal((await upload(service.aid, service.key)).status, 429);
	assert.equal((await upload(service.aid, second.key)).status, 201);
	assert.equal((await upload(other.aid, other.key)).status, 201);
});

test('a used quota refuses requests until the 1st of the next month, 00:00 UTC', async (t) => {
	let nowMs = Date.UTC(2026, 10, 21, 10);
	const service = await startService(t, { plan: { quotaPerMonth: 3 }, now: () => nowMs });
	const upload = () => service.upload({ aid: service.aid, data: [event()] });
	for (let left = 3; left > 0; left--) {
		const answer = await upload();
		assert.equal(answer.status, 201);
		assert.match(answer.headers.get('ratelimit') ?? '', new RegExp(`"quota";r=${left - 1};`));
	}
	const answer = await upload();
	assert.equal(answer.status, 429);
	assert.equal(await answer.text(), quotaExceeded);
	assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8');
	assert.match(answer.headers.get('x-request-id') ?? '', /^[0-9a-f-]{36}$/);
	assert.equal(answer.headers.get('retry-after'), '828000');
	assert.equal(answer.headers.get('ratelimit-policy'), '"rate";q=1000000;w=1, "quota";q=3;w=2592000');
	assert.match(answer.headers.get('ratelimit') ?? '', /, "quota";r=0;t=828000$/);

	nowMs = Date.UTC(2026, 11, 1) - 1;
	const last = await upload();
	assert.equal(last.status, 429);
	assert.equal(last.headers.get('retry-after'), '1');
	nowMs = Date.UTC(2026, 11, 1);
	assert.equal((await upload()).status, 201);
	assert.equal((await service.stored()).length, 4);
});

test('concurrent requests never exceed the quota', async () => {
	const service = await openAccount({ quotaPerMonth: 70 });
	const answers = await Promise.all(
		Array.from({ length: 150 }, () => service.upload({ aid: service.aid, data: [event()] })),
	);
	const statuses = answers.map(({ status }) => status);
	assert.equal(statuses.filter((status) => status === 201).length, 70);
	assert.equal(statuses.filter((status) => status === 429).length, 80);
	assert.equal((await service.stored()).length, 70);
});

test('simulated requests count towards the quota', async () => {
	const service = await openAccount({ quotaPerMonth: 2 });
	const upload = (simulate: boolean) => service.upload({ aid: service.aid, data: [event()], simulate });
	assert.equal((await upload(true)).status, 200);
	assert.equal((await upload(true)).status, 200);
	for (const simulate of [true, false]) assert.equal(await (await upload(simulate)).text(), quotaExceeded);
	assert.deepEqual(await service.stored(), []);
});

test('invalid requests count towards the quota', async () => {
	const service = await openAccount({ quotaPerMonth: 5 });
	const good = { aid: service.aid, data: [event()] };
	assert.equal((await service.upload('{')).status, 400);
	assert.equal((await service.upload({ ...good, data: [] })).status, 400);
	assert.equal((await service.upload({ ...good, aid: 'c-a-unknown' })).status, 400);
	assert.equal((await service.upload(good, { 'content-type': 'text/plain' })).status, 415);
	assert.equal((await service.upload(' '.repeat(300_000))).status, 413);
	assert.equal(await (await service.upload(good)).text(), quotaExceeded);
});

test('the rate is checked before the quota, and requests above the rate do not use the quota', async () => {
	const service = await openAccount({ ratePerSecond: 0.001, burst: 3, quotaPerMonth: 2 });
	const texts: string[] = [];
	for (let count = 0; count < 4; count++)
		texts.push(await (await service.upload({ aid: service.aid, data: [event()] })).text());
	const created = '{"message":"Subscription created successfully.","validationErrors":null}';
	assert.deepEqual(texts, [created, created, quotaExceeded, rateExceeded]);

	const slow = await openAccount({ ...once, quotaPerMonth: 100 });
	const left: (string | undefined)[] = [];
	for (let count = 0; count < 3; count++) {
		const answer = await service.upload({ aid: slow.aid, data: [event()] }, { 'x-api-key': slow.key });
		left.push(/"quota";r=(\d+)/.exec(answer.headers.get('ratelimit') ?? '')?.[1]);
	}
	assert.deepEqual(left, ['99', '99', '99']);
});

test('rate and quota are checked before size, media type and body, and before the body is sent', async (t) => {
	for (const [plan, body] of [
		[once, rateExceeded],
		[{ quotaPerMonth: 1 }, quotaExceeded],
	] as const) {
		const service = await openAccount(plan);
		assert.equal((await service.upload({ aid: service.aid, data: [event()] })).status, 201);
		for (const headers of [
			{},
			{ expect: '100-continue' },
			{ 'content-length': 100_000_000 },
			{ 'content-type': 'text/plain' },
		]) {
			const connection = await connectTo(t, service.url);
			connection.send(uploadHead({ 'x-api-key': service.key, 'content-length': 9, ...headers }));
			const answer = await connection.answer();
			assert.equal(answer.status, 429);
			assert.equal(answer.body, body);
			connection.destroy();
		}
	}
});

test('raising the quota admits requests again', async () => {
	const service = await openAccount({ quotaPerMonth: 1 });
	const upload = () => service.upload({ aid: service.aid, data: [event()] });
	assert.equal((await upload()).status, 201);
	assert.equal((await upload()).status, 429);
	const plan = await service.store.control.plan(service.planName);
	await service.store.control.updatePlan({ ...plan, quotaPerMonth: 2 });
	await service.directory.refresh();
	assert.equal((await upload()).status, 201);
	assert.equal((await upload()).status, 429);
});
