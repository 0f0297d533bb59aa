import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openAccount } from '../../../shared-server.ts';
import { event, startService } from '../../../support.ts';
import { askReceipt } from './ask.ts';

test('says what is stored, when, by which request, and whether it is joined', async (t) => {
	const service = await startService(t, { now: () => Date.UTC(2026, 10, 22, 10, 4, 5, 6) });
	const sent = event({ tid: 'order-1', cid: 'customer-1' });
	const uploaded = await service.upload({ aid: service.aid, data: [sent] });
	const answer = await askReceipt(service, 'order-1');
	assert.equal(answer.status, 200);
	assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8');
	assert.ok(answer.headers.get('ratelimit'));
	const receipt = {
		aid: service.aid,
		tid: 'order-1',
		stored: true,
		receivedAt: '2026-11-22T10:04:05.006Z',
		requestId: uploaded.headers.get('x-request-id'),
		joined: false,
		event: { ...sent, rvn: 0 },
	};
	assert.deepEqual(await answer.json(), receipt);
	await service.hit({ cid: 'customer-1' });
	const joined = await askReceipt(service, 'order-1');
	assert.deepEqual(await joined.json(), { ...receipt, joined: true });
});

test('for a repeated event, names the first request', async () => {
	const service = await openAccount();
	const first = await service.upload({ aid: service.aid, data: [event({ tid: 'a', rvn: 1 })] });
	await service.upload({ aid: service.aid, data: [event({ tid: 'a', rvn: 2 })] });
	const receipt = (await (await askReceipt(service, 'a')).json()) as Record<string, unknown>;
	assert.equal(receipt.requestId, first.headers.get('x-request-id'));
	assert.equal((receipt.event as { rvn: number }).rvn, 1);
});

test('a tid may contain any characters, up to the maximum length', async () => {
	const service = await openAccount();
	const tids = ['a/b', 'a?b#c', 'ü', '%2F', 'receipts', ' ', '👩'.repeat(255), 'x'.repeat(255), '...', "'--"];
	await service.upload({ aid: service.aid, data: tids.map((tid) => event({ tid })) });
	for (const tid of tids) {
		const answer = await askReceipt(service, tid);
		assert.equal(answer.status, 200, tid);
		assert.equal(((await answer.json()) as { tid: string }).tid, tid);
	}
});

test('an event may tell when it happened, and its receipt has both times', async (t) => {
	const service = await startService(t, { now: () => Date.UTC(2026, 10, 21, 10) });
	const { aid } = service;
	const data = [event({ tid: 'T-1', at: '2026-11-01T12:00:00+02:00' }), event({ tid: 'T-2', at: '' })];
	assert.equal((await service.upload({ aid, data })).status, 201);
	const receipt = async (tid: string) => (await askReceipt(service, tid)).json();
	const told = (await receipt('T-1')) as { receivedAt: string; event: { at?: string } };
	assert.equal(told.receivedAt, '2026-11-21T10:00:00.000Z');
	assert.equal(told.event.at, '2026-11-01T10:00:00.000Z');
	assert.equal('at' in ((await receipt('T-2')) as { event: object }).event, false);
});
