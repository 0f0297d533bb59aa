import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openAccount } from '../../../shared-server.ts';
import { event } from '../../../support.ts';
import { askReceipts } from './ask.ts';

interface Receipts {
	readonly aid: string;
	readonly receipts: readonly {
		readonly tid: string;
		readonly stored: boolean;
		readonly requestId?: string;
	}[];
}

test('returns a receipt for each of a hundred tids, in the order of the request', async () => {
	const service = await openAccount();
	const tids = Array.from({ length: 100 }, (_, index) => `order-${99 - index}`);
	const sent = tids.filter((_, index) => index % 4 === 0).map((tid) => event({ tid }));
	const uploaded = await service.upload({ aid: service.aid, data: sent });
	const requestId = uploaded.headers.get('x-request-id');
	const answer = await askReceipts(service, { aid: service.aid, tids });
	assert.equal(answer.status, 200);
	const { aid, receipts } = (await answer.json()) as Receipts;
	assert.equal(aid, service.aid);
	assert.deepEqual(
		receipts.map(({ tid, stored }) => [tid, stored]),
		tids.map((tid, index) => [tid, index % 4 === 0]),
	);
	for (const receipt of receipts)
		if (receipt.stored) assert.equal(receipt.requestId, requestId);
		else assert.deepEqual(Object.keys(receipt), ['tid', 'stored']);
});

test('a repeated tid is answered twice, and . and .. are valid tids', async () => {
	const service = await openAccount();
	await service.upload({ aid: service.aid, data: [event({ tid: '..' })] });
	const answer = await askReceipts(service, { aid: service.aid, tids: ['..', '.', '..'], unknown: 1 });
	const { receipts } = (await answer.json()) as Receipts;
	assert.deepEqual(
		receipts.map(({ stored }) => stored),
		[true, false, true],
	);
});
