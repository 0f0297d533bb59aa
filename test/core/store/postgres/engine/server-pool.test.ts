import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServerPool } from '../../../../../src/core/store/postgres/engine/server-pool.ts';

function things(most: number) {
	const log: string[] = [];
	const serverPool = new ServerPool(most, (address) => {
		log.push(`made ${address}`);
		return {
			address,
			async close() {
				log.push(`closed ${address}`);
			},
		};
	});
	return { log, serverPool };
}

test('each server has one resource, made when first needed', () => {
	const { log, serverPool } = things(2);
	assert.equal(serverPool.get('a'), serverPool.get('a'));
	assert.deepEqual(log, ['made a']);
});

test('above the limit the least recently used is closed, and made again when needed', async () => {
	const { log, serverPool } = things(2);
	for (const address of ['a', 'b', 'a', 'c', 'b']) serverPool.get(address);
	assert.deepEqual(log, ['made a', 'made b', 'closed b', 'made c', 'closed a', 'made b']);
	await serverPool.close();
	assert.deepEqual(log.slice(6).sort(), ['closed b', 'closed c']);
});

test('closing waits for resources that are still closing', async () => {
	const { promise, resolve } = Promise.withResolvers<void>();
	const serverPool = new ServerPool(1, (address) => ({
		close: () => (address === 'slow' ? promise : Promise.resolve()),
	}));
	serverPool.get('slow');
	serverPool.get('next');
	let closed = false;
	const closing = serverPool.close().then(() => {
		closed = true;
	});
	await new Promise(setImmediate);
	assert.equal(closed, false);
	resolve();
	await closing;
});
