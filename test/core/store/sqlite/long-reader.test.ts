import assert from 'node:assert/strict';
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { eventually } from '../../../eventually.ts';
import { takesLong } from '../../../quick.ts';
import { temporaryFolder } from '../../../support.ts';
import { addAccount, openFor, startWritingFor, subscriptionEvent, upload } from '../engines.ts';
import { keepReading } from '../other-program.ts';

const mebibyte = 2 ** 20;

test('of a reader that stays the log tells, uploads go on, and the write-ahead log is short again after it', {
	skip: takesLong,
}, async (t) => {
	const folder = temporaryFolder(t);
	const store = await openFor(t, `sqlite:${folder}`);
	const accountId = await addAccount(store);
	const notices: string[] = [];
	const writer = await startWritingFor(t, store, {
		onNotice: (database, notice) => notices.push(`${database}: ${notice}`),
	});
	const path = join(folder, `accounts/${accountId}.sqlite`);
	const logBytes = () => statSync(`${path}-wal`).size;
	let longestMs = 0;
	const uploadSome = async () => {
		const events = Array.from({ length: 500 }, () => subscriptionEvent({ subid: 's'.repeat(250) }));
		const beganMs = performance.now();
		await upload(writer, accountId, events);
		longestMs = Math.max(longestMs, performance.now() - beganMs);
	};
	await uploadSome();
	assert.deepEqual(writer.logs?.heldSeconds, 0);
	const reader = await keepReading(path);
	t.after(() => reader.release());
	while (logBytes() < 100 * mebibyte) await uploadSome();
	const writing = setInterval(uploadSome, 200);
	t.after(() => clearInterval(writing));
	await eventually('the operator is told', () => notices.length > 0);
	const process = existsSync('/proc/locks') ? ' \\(process \\d+\\)' : '';
	assert.match(
		String(notices[0]),
		new RegExp(
			`^account ${accountId}: a reader${process} has kept the write-ahead log from being copied for \\d+ s; the log has \\d{3} MiB and grows until the reader ends$`,
		),
	);
	assert.ok(Number(writer.logs?.longestBytes) >= 100 * mebibyte);
	assert.ok(Number(writer.logs?.heldSeconds) >= 10);

	await reader.release();
	const tookMs = await eventually('it is short under writes', () => logBytes() <= 32 * mebibyte, 2000);
	clearInterval(writing);
	t.diagnostic(`after ${Math.round(tookMs)} ms; the longest upload took ${Math.round(longestMs)} ms`);
	assert.ok(longestMs < 2500, `an upload of 500 events took ${longestMs} ms`);
	await eventually('nobody is in the way', () => writer.logs?.heldSeconds === 0);
});

test('it is short again without writes', { skip: takesLong }, async (t) => {
	const folder = temporaryFolder(t);
	const store = await openFor(t, `sqlite:${folder}`);
	const accountId = await addAccount(store);
	const writer = await startWritingFor(t, store);
	const path = join(folder, `accounts/${accountId}.sqlite`);
	await upload(writer, accountId, [subscriptionEvent()]);
	const reader = await keepReading(path);
	t.after(() => reader.release());
	const logBytes = () => statSync(`${path}-wal`).size;
	while (logBytes() < 48 * mebibyte)
		await upload(
			writer,
			accountId,
			Array.from({ length: 500 }, () => subscriptionEvent({ subid: 's'.repeat(250) })),
		);
	await delay(1000);
	await reader.release();
	await eventually('it is short', () => logBytes() <= 32 * mebibyte, 2000);
});
