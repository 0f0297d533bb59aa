import assert from 'node:assert/strict';
import { test } from 'node:test';
import { temporaryFolder } from '../support.ts';
import { serverKilled, uploadsKilled } from './uploads-killed.ts';

test('of 200 concurrent uploads whose clients may die, acknowledged ones are stored, and none partially', async (t) => {
	const { acknowledged, killedHalfWay } = await uploadsKilled({ folder: temporaryFolder(t), uploads: 200 });
	assert.deepEqual({ acknowledged, killedHalfWay }, { acknowledged: 100, killedHalfWay: 50 });
});

test('a server that is killed and started again ends neither caskade upload nor uploadAll', async (t) => {
	const options = { folder: temporaryFolder(t), rows: 900, kills: 1, awayMs: 1500 };
	const { retries, told } = await serverKilled(options);
	assert.ok(retries > 0);
	assert.match(told, /^no answer since \d+ s \(.+\), trying again$/);
});
