import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rowsOf } from '../../client/src/errors.ts';
import {
	type BatchOutcome,
	type CaskadeError,
	ForbiddenError,
	InvalidAccountError,
	InvalidRequestError,
	NotFoundError,
	QuotaExceededError,
	type UploadResult,
} from '../../client/src/index.ts';
import { openAccount } from '../shared-server.ts';
import { clientOf, newsletters } from './client.ts';

test('an upload returns what was stored, duplicate and conflicting', async () => {
	const service = await openAccount();
	const { subscriptions } = clientOf(service);
	const events = newsletters(3);
	const simulated = await subscriptions.upload(service.aid, events, { simulate: true });
	assert.deepEqual([simulated.stored, simulated.simulated], [3, true]);
	assert.deepEqual(await service.stored(), []);
	const first = await subscriptions.upload(service.aid, events.slice(0, 2));
	const { requestId } = first;
	assert.match(requestId, /^[0-9a-f-]{36}$/);
	assert.deepEqual(first, {
		stored: 2,
		duplicates: 0,
		conflicts: 0,
		duplicateRows: [],
		conflictingRows: [],
		unjoinableRows: [],
		requestId,
		attempts: 1,
		simulated: false,
	} satisfies UploadResult);
	const again = await subscriptions.upload(service.aid, [{ ...events[1], evt: 'other' } as never, ...events]);
	assert.deepEqual(
		[again.stored, again.duplicateRows, again.conflictingRows, again.duplicates, again.conflicts],
		[1, [0, 1, 2], [0], 3, 1],
	);
	assert.equal((await service.stored()).length, 3);
});

test('each error has its own class', async () => {
	const service = await openAccount({ quotaPerMonth: 4 });
	const { aid } = service;
	const failure = (upload: Promise<unknown>) =>
		upload.then(
			() => assert.fail('it was not refused'),
			(error: CaskadeError) => error,
		);
	const { subscriptions } = clientOf(service);
	const wrong = await failure(
		subscriptions.upload(aid, [
			...newsletters(1),
			{ tid: '', subid: 'S', evt: 'e' },
			{ tid: 'a', subid: 'S', evt: 'e', rvn: 4.99 },
			null as never,
		]),
	);
	assert.ok(wrong instanceof InvalidRequestError);
	assert.equal(wrong.status, 400);
	const text = 'must be a string of 1 to 255 characters, without control characters or lone surrogates';
	assert.deepEqual(wrong.rows, [
		{ index: 1, field: 'tid', message: text },
		{ index: 2, field: 'rvn', message: 'must be an integer' },
		{ index: 3, field: '', message: 'must be an object' },
	]);
	assert.match(String(wrong.requestId), /^[0-9a-f-]{36}$/);
	const foreign = await failure(subscriptions.upload('c-a-nobody', newsletters(1)));
	assert.ok(foreign instanceof InvalidAccountError);
	assert.match(foreign.message, /No account c-a-nobody is available/);
	const stranger = await failure(clientOf({ ...service, key: 'unknown' }).usage());
	assert.ok(stranger instanceof ForbiddenError);
	const nowhere = clientOf({ ...service, url: `${service.url}/nothing/` });
	assert.ok((await failure(nowhere.usage())) instanceof NotFoundError);
	for (let count = 0; count < 2; count++) await subscriptions.upload(aid, newsletters(1));
	const usedUp = await failure(subscriptions.upload(aid, newsletters(1)));
	assert.ok(usedUp instanceof QuotaExceededError);
	assert.equal(usedUp.attempts, 1);
	assert.ok((usedUp.retryAfterMs ?? 0) >= 1000);
	assert.doesNotMatch(JSON.stringify([wrong, foreign, stranger, usedUp]), new RegExp(service.key));
});

test("rows are parsed from the server's text, even if it is cut off", () => {
	assert.deepEqual(rowsOf('data must have at most 30 objects, it has 31'), []);
	assert.deepEqual(rowsOf('data[3].tid is required; data[17].rvn must be an integer; and 15 more'), [
		{ index: 3, field: 'tid', message: 'is required' },
		{ index: 17, field: 'rvn', message: 'must be an integer' },
	]);
});

test('any number of events are sent in batches, and onBatch receives each', async () => {
	const service = await openAccount();
	const { subscriptions } = clientOf(service);
	const events = newsletters(100);
	const batches: BatchOutcome[] = [];
	const summary = await subscriptions.uploadAll(
		service.aid,
		(async function* () {
			yield* events;
			yield* events.slice(0, 10).map((event) => ({ ...event, subid: 'other' }));
		})(),
		{ onBatch: (batch) => void batches.push(batch) },
	);
	assert.deepEqual(summary, { requests: 4, stored: 100, duplicates: 10, conflicts: 10, rejected: 0 });
	assert.deepEqual(batches.map(({ sent }) => sent.length).sort(), [20, 30, 30, 30]);
	assert.equal((await service.stored()).length, 100);
});

test('rows that the server rejects stop the upload, or are skipped', async () => {
	const service = await openAccount();
	const { subscriptions } = clientOf(service);
	const events = newsletters(90).map((event, index) => (index % 40 === 5 ? { ...event, evt: '' } : event));
	await assert.rejects(subscriptions.uploadAll(service.aid, events, { concurrency: 1 }), InvalidRequestError);
	assert.equal((await service.stored()).length, 0);
	const rejected: number[] = [];
	const summary = await subscriptions.uploadAll(service.aid, events, {
		onBad: 'skip',
		onBatch: (batch) => {
			for (const { event, problems } of batch.rejected) {
				rejected.push(events.indexOf(event));
				assert.equal(problems[0]?.field, 'evt');
			}
		},
	});
	assert.deepEqual(
		rejected.sort((a, b) => a - b),
		[5, 45, 85],
	);
	assert.deepEqual([summary.stored, summary.rejected], [87, 3]);
	assert.equal((await service.stored()).length, 87);
});

test('a batch of long events fits into a request', async () => {
	const service = await openAccount({ maxEvents: 1000 });
	const long = newsletters(300).map((event) => ({
		...event,
		subid: '\u{1f469}'.repeat(255),
		cid: '"'.repeat(255),
	}));
	const summary = await clientOf(service).subscriptions.uploadAll(service.aid, long, { batchSize: 1000 });
	assert.equal(summary.stored, 300);
	assert.ok(summary.requests > 1);
});

test('a signal ends the upload; what onBatch received is stored', async () => {
	const service = await openAccount({ ratePerSecond: 20, burst: 1 });
	const stop = new AbortController();
	let told = 0;
	const upload = clientOf(service).subscriptions.uploadAll(service.aid, newsletters(3000), {
		signal: stop.signal,
		onBatch: ({ sent }) => {
			told += sent.length;
			if (told >= 90) stop.abort(new Error('enough'));
		},
	});
	await assert.rejects(upload, /enough/);
	const stored = (await service.stored()).length;
	assert.ok(stored >= told && stored <= told + 4 * 30, `${stored} stored, told of ${told}`);
});

test('usage and receipts', async () => {
	const service = await openAccount({ quotaPerMonth: 1000 });
	const caskade = clientOf(service);
	const { requestId } = await caskade.subscriptions.upload(service.aid, newsletters(2));
	const { used, remaining, quotaPerMonth, resetsAt } = await caskade.usage();
	assert.deepEqual([used, remaining, quotaPerMonth], [1, 999, 1000]);
	assert.match(resetsAt, /^\d{4}-\d\d-01T00:00:00.000Z$/);
	const receipt = await caskade.receipts.get(service.aid, 'T-1');
	assert.ok(receipt.stored);
	assert.equal(receipt.requestId, requestId);
	assert.equal(receipt.event.rvn, 1);
	assert.equal((await caskade.receipts.get(service.aid, '..')).stored, false);
	const tids = Array.from({ length: 250 }, (_, index) => `T-${index}`);
	const receipts = await caskade.receipts.getAll(service.aid, tids);
	assert.deepEqual(
		receipts.map(({ tid }) => tid),
		tids,
	);
	assert.equal(receipts.filter(({ stored }) => stored).length, 2);
	assert.equal((await caskade.usage()).used, 6);
	const { currency, decimals } = await caskade.usage({ aid: service.aid });
	assert.deepEqual([currency, decimals], ['GBP', 2]);
});
