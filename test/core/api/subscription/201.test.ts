import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectTo, uploadHead } from '../../../raw-http.ts';
import { openAccount } from '../../../shared-server.ts';
import { duplicateHeaders, event, startService } from '../../../support.ts';

const stored = '{"message":"Subscription created successfully.","validationErrors":null}';

test('stores every field of every event', async (t) => {
	const service = await startService(t, { now: () => Date.UTC(2026, 10, 21, 10) });
	const answer = await service.upload({
		aid: service.aid,
		data: [
			{ tid: 'T-1', subid: 'S-1', cid: 'C-1', evt: 'newsletter', rvn: 499 },
			{ tid: 'T-2', subid: 'T-2', evt: 'refund', rvn: -499 },
		],
	});
	assert.equal(answer.status, 201);
	assert.equal(await answer.text(), stored);
	assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8');
	assert.equal(answer.headers.get('x-events-stored'), '2');
	assert.deepEqual(duplicateHeaders(answer), {
		duplicate: '0',
		conflicting: '0',
		duplicateRows: null,
		conflictingRows: null,
	});
	assert.deepEqual(await service.stored(), [
		{
			tid: 'T-1',
			subid: 'S-1',
			cid: 'C-1',
			evt: 'newsletter',
			rvn: 499,
			receivedAt: '2026-11-21T10:00:00.000Z',
		},
		{ tid: 'T-2', subid: 'T-2', cid: null, evt: 'refund', rvn: -499, receivedAt: '2026-11-21T10:00:00.000Z' },
	]);
});

test('simulate false means the same as absent', async () => {
	const service = await openAccount();
	const answer = await service.upload({ aid: service.aid, data: [event()], simulate: false });
	assert.equal(answer.status, 201);
	assert.equal((await service.stored()).length, 1);
});

test('names rows with keys that stand for a missing one, and stores them', async () => {
	const service = await openAccount();
	const rows = [{ cid: 'undefined' }, { cid: 'C-1' }, { tid: ' Null ' }, { subid: 'n/a' }, { cid: null }];
	const data = rows.map((row) => ({ ...event(), ...row }));
	const answer = await service.upload({ aid: service.aid, data });
	assert.equal(answer.status, 201);
	assert.equal(answer.headers.get('x-events-stored'), '5');
	assert.equal(answer.headers.get('x-unjoinable-rows'), '0,2,3');
	assert.deepEqual(
		(await service.stored()).map(({ tid, subid, cid }) => ({ tid, subid, cid })),
		data.map(({ tid, subid, cid = null }) => ({ tid, subid, cid })),
	);
	const without = await service.upload({ aid: service.aid, data: [event()] });
	assert.equal(without.headers.get('x-unjoinable-rows'), null);
});

test('every answer has its own request id', async () => {
	const service = await openAccount();
	const ids = new Set<string>();
	for (let count = 0; count < 3; count++) {
		const answer = await service.upload({ aid: service.aid, data: [event()] });
		ids.add(answer.headers.get('x-request-id') as string);
	}
	assert.equal(ids.size, 3);
	for (const id of ids) assert.match(id, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
});

test('returns the limits of the key and the remaining requests', async (t) => {
	const service = await startService(t, {
		plan: { ratePerSecond: 10, burst: 5, quotaPerMonth: 1000 },
		now: () => Date.UTC(2026, 10, 21, 10),
	});
	const answer = await service.upload({ aid: service.aid, data: [event()] });
	// November has 30 days; from the 21st, 10:00, to the 1st, 00:00, are 9 days and 14 hours.
	assert.equal(answer.headers.get('ratelimit-policy'), '"rate";q=10;w=1, "quota";q=1000;w=2592000');
	assert.equal(answer.headers.get('ratelimit'), '"rate";r=4, "quota";r=999;t=828000');
});

test('rvn missing, null or empty is 0; negative is a refund; every safe integer is kept', async () => {
	const service = await openAccount();
	const cases: [json: string, stored: number][] = [
		['', 0],
		[',"rvn":null', 0],
		[',"rvn":""', 0],
		[',"rvn":0', 0],
		[',"rvn":-0', 0],
		[',"rvn":-1', -1],
		[',"rvn":1e3', 1000],
		[',"rvn":12.0', 12],
		[`,"rvn":${Number.MAX_SAFE_INTEGER}`, Number.MAX_SAFE_INTEGER],
		[`,"rvn":${Number.MIN_SAFE_INTEGER}`, Number.MIN_SAFE_INTEGER],
	];
	const data = cases.map(([json], index) => `{"tid":"${index}","subid":"s","evt":"e"${json}}`);
	const answer = await service.upload(`{"aid":"${service.aid}","data":[${data.join()}]}`);
	assert.equal(answer.status, 201);
	assert.deepEqual(
		(await service.stored()).map(({ rvn }) => rvn),
		cases.map(([, rvn]) => rvn),
	);
});

test('cid missing, null or empty means none', async () => {
	const service = await openAccount();
	const data = [event(), event({ cid: null }), event({ cid: '' }), event({ cid: 'c' })];
	assert.equal((await service.upload({ aid: service.aid, data })).status, 201);
	assert.deepEqual(
		(await service.stored()).map(({ cid }) => cid),
		[null, null, null, 'c'],
	);
});

test('strings are stored exactly as sent, and differ if one code point does', async () => {
	const service = await openAccount({ maxEvents: 100 });
	const strings = [
		'Order-1',
		'order-1',
		' order-1',
		'order-1 ',
		'\u00e9',
		'e\u0301',
		'0',
		'00',
		'null',
		"'); DROP TABLE subscription_event; --",
		'"\\/%_*?',
		'\u2028\u2029\ufeff\ufffd',
		'日本語',
		'👩‍👩‍👧‍👦',
		'x'.repeat(255),
		'é'.repeat(255),
		'😀'.repeat(255),
	];
	const data = strings.map((text) => ({ tid: text, subid: text, cid: text, evt: text }));
	const answer = await service.upload({ aid: service.aid, data });
	assert.equal(answer.status, 201);
	assert.equal(answer.headers.get('x-events-stored'), String(strings.length));
	assert.deepEqual(
		(await service.stored()).map(({ tid, subid, cid, evt }) => ({ tid, subid, cid, evt })),
		data,
	);
});

test('unknown properties are ignored, whatever their names and values', async () => {
	const service = await openAccount();
	const deep = `${'['.repeat(10_000)}${']'.repeat(10_000)}`;
	const body = `{
		"aid": "${service.aid}", "nested": ${deep}, "huge": 1e400, "__proto__": {"simulate": true},
		"constructor": null, "toString": 1,
		"data": [{
			"tid": "T-1", "subid": "S-1", "evt": "newsletter", "id": 99, "received_at": 0, "nested": ${deep},
			"__proto__": {"cid": "stolen", "rvn": 1}, "constructor": {"prototype": {"cid": "stolen"}}, "hasOwnProperty": 1
		}]
	}`;
	assert.equal((await service.upload(body)).status, 201);
	const [row] = await service.stored();
	assert.deepEqual(
		{ ...row, receivedAt: '' },
		{ tid: 'T-1', subid: 'S-1', cid: null, evt: 'newsletter', rvn: 0, receivedAt: '' },
	);
});

test('the last of several properties with the same name counts', async () => {
	const service = await openAccount();
	const answer = await service.upload(
		`{"aid":"c-a-unknown","simulate":true,"data":[],"aid":"${service.aid}","simulate":false,"data":[{"tid":"first","tid":"last","subid":"s","evt":"e"}]}`,
	);
	assert.equal(answer.status, 201);
	assert.deepEqual(
		(await service.stored()).map(({ tid }) => tid),
		['last'],
	);
});

test('a byte order mark before the JSON is ignored', async () => {
	const service = await openAccount();
	const answer = await service.upload(`\ufeff${JSON.stringify({ aid: service.aid, data: [event()] })}`);
	assert.equal(answer.status, 201);
});

test('a repeated upload succeeds and stores nothing: the first write wins', async () => {
	const service = await openAccount();
	const first = { tid: 'T-1', subid: 'S-1', cid: 'C-1', evt: 'newsletter', rvn: 1 };
	await service.upload({ aid: service.aid, data: [first] });
	const [before] = await service.stored();
	const answer = await service.upload({
		aid: service.aid,
		data: [first, { ...first, rvn: 2 }, { ...first, tid: 'T-2' }],
	});
	assert.equal(answer.status, 201);
	assert.equal(await answer.text(), stored);
	assert.equal(answer.headers.get('x-events-stored'), '1');
	assert.deepEqual(duplicateHeaders(answer), {
		duplicate: '2',
		conflicting: '1',
		duplicateRows: '0,1',
		conflictingRows: '1',
	});
	const rows = await service.stored();
	assert.deepEqual(rows[0], before);
	assert.deepEqual(
		rows.map(({ tid, rvn }) => [tid, rvn]),
		[
			['T-1', 1],
			['T-2', 1],
		],
	);
});

test('a tid repeated within a request is stored once, with the first content', async () => {
	const service = await openAccount();
	const answer = await service.upload({
		aid: service.aid,
		data: [event({ tid: 'T-1', evt: 'first' }), event({ tid: 'T-1', evt: 'second' }), event({ tid: 'T-2' })],
	});
	assert.equal(answer.status, 201);
	assert.equal(answer.headers.get('x-events-stored'), '2');
	assert.deepEqual(duplicateHeaders(answer), {
		duplicate: '1',
		conflicting: '1',
		duplicateRows: '1',
		conflictingRows: '1',
	});
	assert.deepEqual(
		(await service.stored()).map(({ tid, evt }) => [tid, evt]),
		[
			['T-1', 'first'],
			['T-2', 'newsletter'],
		],
	);
});

test('duplicates and conflicts are named by their row', async () => {
	const service = await openAccount();
	const sale = event({ tid: 'T-1', cid: 'C-1', rvn: 100 });
	const fresh = () => event();
	await service.upload({ aid: service.aid, data: [sale] });
	const twice = event({ tid: 'T-2' });
	const answer = await service.upload({
		aid: service.aid,
		data: [
			fresh(),
			sale,
			{ ...sale, rvn: 101 },
			twice,
			{ ...sale, cid: null },
			{ ...twice, subid: 'other' },
			twice,
			fresh(),
			{ ...sale, evt: 'other' },
		],
	});
	assert.equal(answer.status, 201);
	assert.equal(answer.headers.get('x-events-stored'), '3');
	assert.deepEqual(duplicateHeaders(answer), {
		duplicate: '6',
		conflicting: '4',
		duplicateRows: '1,2,4,5,6,8',
		conflictingRows: '2,4,5,8',
	});
});

test('only the first hundred duplicates are named, because proxies limit the size of headers', async () => {
	const service = await openAccount({ maxEvents: 1000 });
	const data = Array.from({ length: 1000 }, () => event());
	await service.upload({ aid: service.aid, data });
	const answer = await service.upload({ aid: service.aid, data: data.map((one) => ({ ...one, rvn: 1 })) });
	assert.equal(answer.status, 201);
	const firstHundred = Array.from({ length: 100 }, (_, row) => row).join();
	assert.deepEqual(duplicateHeaders(answer), {
		duplicate: '1000',
		conflicting: '1000',
		duplicateRows: firstHundred,
		conflictingRows: firstHundred,
	});
});

test('a conflicting duplicate is logged, an equal one is not', async (t) => {
	const service = await startService(t);
	const conflicts = () => service.logged.map((line) => JSON.parse(line)).filter((entry) => entry.tids);
	const sale = event({ tid: 'T-1', cid: 'C-1', rvn: 100 });
	await service.upload({ aid: service.aid, data: [sale] });
	await service.upload({ aid: service.aid, data: [sale] });
	assert.deepEqual(conflicts(), []);
	for (const changed of [{ subid: 'other' }, { cid: null }, { evt: 'other' }, { rvn: 101 }]) {
		const answer = await service.upload({ aid: service.aid, data: [{ ...sale, ...changed }] });
		assert.equal(answer.status, 201);
		const last = conflicts().at(-1);
		assert.equal(last.level, 'warn');
		assert.equal(last.requestId, answer.headers.get('x-request-id'));
		assert.equal(last.aid, service.aid);
		assert.deepEqual(last.tids, ['T-1']);
	}
	assert.equal(conflicts().length, 4);
});

test('a renewal is a new tid with the same subid', async () => {
	const service = await openAccount();
	for (const tid of ['2026-11', '2026-12']) {
		const answer = await service.upload({ aid: service.aid, data: [event({ tid, subid: 'S-1' })] });
		assert.equal(answer.headers.get('x-events-stored'), '1');
	}
	assert.equal((await service.stored()).length, 2);
});

test('a tid is unique within its account, not between accounts', async () => {
	const service = await openAccount();
	const other = await openAccount();
	const upload = (aid: string, key: string) =>
		service.upload({ aid, data: [event({ tid: 'T-1', evt: aid })] }, { 'x-api-key': key });
	assert.equal((await upload(service.aid, service.key)).headers.get('x-events-stored'), '1');
	assert.equal((await upload(other.aid, other.key)).headers.get('x-events-stored'), '1');
	assert.deepEqual(
		(await service.stored(other.aid)).map(({ evt }) => evt),
		[other.aid],
	);
});

test('30 objects are accepted; a plan may allow more', async () => {
	const service = await openAccount();
	const many = (count: number) => Array.from({ length: count }, () => event());
	assert.equal((await service.upload({ aid: service.aid, data: many(30) })).status, 201);

	const bulk = await openAccount({ maxEvents: 1000 });
	const answer = await service.upload({ aid: bulk.aid, data: many(1000) }, { 'x-api-key': bulk.key });
	assert.equal(answer.status, 201);
	assert.equal(answer.headers.get('x-events-stored'), '1000');
	assert.equal((await service.stored(bulk.aid)).length, 1000);
});

test('application/json is accepted in any letter case, with charset UTF-8 or without a charset', async () => {
	const service = await openAccount();
	for (const type of [
		'application/json',
		'Application/JSON',
		'application/json; charset=utf-8',
		'application/json;charset=UTF-8',
		'application/json; charset="utf-8"',
		'application/json; charset=utf8',
		'application/json; profile=x',
	]) {
		const answer = await service.upload({ aid: service.aid, data: [event()] }, { 'content-type': type });
		assert.equal(answer.status, 201, type);
	}
});

test('a chunked body without content-length is accepted', async (t) => {
	const service = await openAccount();
	const body = Buffer.from(JSON.stringify({ aid: service.aid, data: [event({ cid: 'é😀' })] }));
	const connection = await connectTo(t, service.url);
	connection.send(uploadHead({ 'x-api-key': service.key, 'transfer-encoding': 'chunked' }));
	// One byte a chunk, so that characters are cut apart.
	for (const byte of body) connection.send('1\r\n', Uint8Array.of(byte), '\r\n');
	connection.send('0\r\n\r\n');
	assert.equal((await connection.answer()).status, 201);
	assert.equal((await service.stored())[0]?.cid, 'é😀');
});

test('a client that sends "Expect: 100-continue" gets 100', async (t) => {
	const service = await openAccount();
	const body = JSON.stringify({ aid: service.aid, data: [event()] });
	const connection = await connectTo(t, service.url);
	connection.send(
		uploadHead({ 'x-api-key': service.key, 'content-length': body.length, expect: '100-continue' }),
	);
	assert.equal((await connection.answer()).status, 100);
	connection.send(body);
	const answer = await connection.answer();
	assert.equal(answer.status, 201);
	assert.equal(answer.body, stored);
});

test('pipelined requests on one connection are answered in order', async (t) => {
	const service = await openAccount();
	const connection = await connectTo(t, service.url);
	const sizes = [3, 1, 2];
	for (const size of sizes) {
		const body = JSON.stringify({ aid: service.aid, data: Array.from({ length: size }, () => event()) });
		connection.send(uploadHead({ 'x-api-key': service.key, 'content-length': body.length }), body);
	}
	for (const size of sizes)
		assert.equal((await connection.answer()).headers.get('x-events-stored'), String(size));
});
