import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectTo, uploadHead } from '../../../raw-http.ts';
import { openAccount } from '../../../shared-server.ts';
import { event, type ServedAccount, startService } from '../../../support.ts';

const text = 'a string of 1 to 255 characters, without control characters or lone surrogates';

/** The body of a 400 whose text is in `validationErrors`. */
function refused(message: string, validationErrors: string): string {
	return JSON.stringify({ message, validationErrors });
}

async function assertRefused(answer: Response, body: string, what = body): Promise<void> {
	assert.equal(await answer.text(), body, what);
	assert.equal(answer.status, 400, what);
	assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8');
	assert.match(answer.headers.get('x-request-id') ?? '', /^[0-9a-f-]{36}$/);
	assert.match(answer.headers.get('ratelimit-policy') ?? '', /^"rate";q=\d+;w=1, "quota";q=\d+;w=\d+$/);
	assert.equal(answer.headers.get('x-events-stored'), null);
	assert.equal(answer.headers.get('x-events-duplicate'), null);
}

/** Expects these problems, in this order. */
async function assertProblems(answer: Response, ...problems: string[]): Promise<void> {
	await assertRefused(answer, refused('Error inserting subscription.', problems.join('; ')));
}

async function assertNothingStored(service: ServedAccount): Promise<void> {
	assert.deepEqual(await service.stored(), []);
}

test('an empty body is refused', async () => {
	const service = await openAccount();
	await assertRefused(await service.upload(''), refused('Malformed JSON.', 'the body is empty'));
});

test('a body that is not UTF-8 is refused', async () => {
	const service = await openAccount();
	const valid = Buffer.from(JSON.stringify({ aid: service.aid, data: [event({ cid: 'CID' })] }));
	const withCid = (...bytes: number[]) => {
		const at = valid.indexOf('CID');
		return Buffer.concat([valid.subarray(0, at), Buffer.from(bytes), valid.subarray(at + 3)]);
	};
	assert.equal((await service.upload(withCid(0x41), { 'x-api-key': service.key })).status, 201);
	const cases: [string, Buffer][] = [
		['a byte that UTF-8 has not', withCid(0xff)],
		['ISO 8859-1', withCid(0xe9)],
		['an overlong form', withCid(0xc0, 0x80)],
		['a surrogate', withCid(0xed, 0xa0, 0x80)],
		['beyond Unicode', withCid(0xf4, 0x90, 0x80, 0x80)],
		['a character cut off', withCid(0xf0, 0x9f, 0x98)],
		['UTF-16', Buffer.from(`\ufeff${valid}`, 'utf16le')],
	];
	for (const [what, body] of cases)
		await assertRefused(
			await service.upload(body),
			refused('Malformed JSON.', 'the body is not UTF-8'),
			what,
		);
	assert.equal((await service.stored()).length, 1);
});

test('a body that is not JSON is refused; the error says why, without quoting the body', async () => {
	const service = await openAccount();
	const valid = JSON.stringify({ aid: service.aid, data: [event({ cid: 'Private' })] });
	const bodies = [
		' ',
		valid.slice(0, -1),
		valid.slice(0, valid.indexOf('Private') + 4),
		valid.slice(1),
		`${valid},`,
		`${valid}${valid}`,
		`${valid}\0`,
		`\0${valid}`,
		`\ufeff\ufeff${valid}`,
		`// Private\n${valid}`,
		valid.replaceAll('"', "'"),
		valid.replace('"Private"', 'Private'),
		valid.replace('Private', 'Pri\0vate'),
		valid.replace('Private', 'Pri\nvate'),
		valid.replace('Private', 'Pri\u001fvate'),
		valid.replace('Private', 'Pri\\xvate'),
		valid.replace('Private', 'Pri\\u12Gvate'),
		valid.replace('}]', ',}]'),
		valid.replace('}]', '},]'),
		valid.replace('"Private"', '01'),
		valid.replace('"Private"', '+1'),
		valid.replace('"Private"', '.5'),
		valid.replace('"Private"', '1.'),
		valid.replace('"Private"', '0x10'),
		valid.replace('"Private"', 'NaN'),
		valid.replace('"Private"', '-Infinity'),
		valid.replace('"Private"', 'undefined'),
		'NaN',
		'undefined',
		'aid=c-a-acme-uk&Private=1',
		'<Private/>',
		'['.repeat(10_000),
		'{"a":'.repeat(10_000),
		`${'['.repeat(10_000)}${'}'.repeat(10_000)}`,
	];
	for (const body of bodies) {
		const answer = await service.upload(body);
		const { message, validationErrors } = JSON.parse(await answer.clone().text());
		assert.equal(message, 'Malformed JSON.', body.slice(0, 100));
		assert.match(validationErrors, /\S/);
		assert.doesNotMatch(validationErrors, /Pri|vate|acme/);
		assert.ok(validationErrors.length <= 200);
		await assertRefused(answer, refused(message, validationErrors));
	}
	await assertNothingStored(service);
});

test('JSON that is not an object is refused', async () => {
	const service = await openAccount();
	const problem = 'the body must be an object';
	for (const body of ['null', 'true', '1', '"aid"', '[]', `[{"aid":"${service.aid}"}]`])
		await assertProblems(await service.upload(body), problem);
});

test('names missing and invalid properties of the request', async () => {
	const service = await openAccount();
	const data = 'data must be an array of at least one subscription event';
	const cases: [fields: Record<string, unknown>, ...problems: string[]][] = [
		[{ aid: undefined }, 'aid is required'],
		[{ aid: null }, `aid must be ${text}`],
		[{ aid: 7 }, `aid must be ${text}`],
		[{ aid: '' }, `aid must be ${text}`],
		[{ aid: [service.aid] }, `aid must be ${text}`],
		[{ aid: 'x'.repeat(256) }, `aid must be ${text}`],
		[{ aid: `${service.aid}\0` }, `aid must be ${text}`],
		[{ aid: '\ud800' }, `aid must be ${text}`],
		[{ data: undefined }, 'data is required'],
		[{ data: null }, data],
		[{ data: event() }, data],
		[{ data: JSON.stringify([event()]) }, data],
		[{ data: { 0: event(), length: 1 } }, data],
		[{ data: [] }, data],
		[{ simulate: null }, 'simulate must be a boolean'],
		[{ simulate: 'true' }, 'simulate must be a boolean'],
		[{ simulate: '' }, 'simulate must be a boolean'],
		[{ simulate: 1 }, 'simulate must be a boolean'],
		[{ aid: undefined, data: undefined }, 'aid is required', 'data is required'],
	];
	for (const [fields, ...problems] of cases)
		await assertProblems(await service.upload({ aid: service.aid, data: [event()], ...fields }), ...problems);
	await assertNothingStored(service);
});

test('an event that is not an object is refused', async () => {
	const service = await openAccount();
	for (const element of [null, true, 1, 'order-1', [], [event()]])
		await assertProblems(
			await service.upload({ aid: service.aid, data: [element] }),
			'data[0] must be an object',
		);
});

for (const field of ['tid', 'subid', 'evt', 'cid']) {
	test(`${field}: a wrong type, excess length, control characters and lone surrogates are refused`, async () => {
		const service = await openAccount();
		const wrong = [7, true, [], {}, ['x'], 'x'.repeat(256), '😀'.repeat(256)];
		const control = ['\0', '\u0001', '\t', '\n', '\r', '\u001f', '\u007f', '\u0080', '\u009f'];
		const lone = ['\ud800', '\udbff', '\udc00', '\udfff', '\ude00\ud83d', '😀\ud83d'];
		for (const value of [...wrong, ...[...control, ...lone].flatMap((bad) => [bad, `x${bad}x`])])
			await assertProblems(
				await service.upload({ aid: service.aid, data: [event({ [field]: value })] }),
				`data[0].${field} must be ${text}`,
			);
		await assertNothingStored(service);
	});
}

for (const field of ['tid', 'subid', 'evt']) {
	test(`${field}: missing, null and empty are refused`, async () => {
		const service = await openAccount();
		const upload = (value: unknown) =>
			service.upload({ aid: service.aid, data: [event({ [field]: value })] });
		await assertProblems(await upload(undefined), `data[0].${field} is required`);
		for (const value of [null, ''])
			await assertProblems(await upload(value), `data[0].${field} must be ${text}`);
		await assertNothingStored(service);
	});
}

test('rvn: anything but a safe integer is refused', async () => {
	const service = await openAccount();
	const { tid, subid, evt } = event();
	for (const rvn of [
		'1.5',
		'-0.1',
		'1e-1',
		'1e400',
		'-1e400',
		'1e21',
		'9007199254740992',
		'9007199254740993',
		'-9007199254740993',
		'9007199254740991.4',
		'1.0000000000000001',
		'499.00000000000000001',
		'1e-20',
		'1e-400',
		'10000000000000000001e-19',
		'"499"',
		'" "',
		'true',
		'false',
		'[]',
		'[499]',
		'{}',
	])
		await assertProblems(
			await service.upload(
				`{"aid":"${service.aid}","data":[{"tid":"${tid}","subid":"${subid}","evt":"${evt}","rvn":${rvn}}]}`,
			),
			'data[0].rvn must be an integer',
		);
	await assertNothingStored(service);
});

test('inherited properties and __proto__ do not count as properties of the request', async () => {
	const service = await openAccount();
	const row = JSON.stringify(event());
	await assertProblems(
		await service.upload(`{"__proto__":{"aid":"${service.aid}","data":[${row}]}}`),
		'aid is required',
		'data is required',
	);
	await assertProblems(
		await service.upload(
			`{"aid":"${service.aid}","data":[{"__proto__":${row}},{"constructor":{"prototype":${row}}}]}`,
		),
		'data[0].tid is required',
		'data[0].subid is required',
		'data[0].evt is required',
		'data[1].tid is required',
		'data[1].subid is required',
		'data[1].evt is required',
	);
	assert.equal(({} as Record<string, unknown>).tid, undefined);
	await assertNothingStored(service);
});

test('the last of several properties with the same name counts', async () => {
	const service = await openAccount();
	await assertProblems(
		await service.upload(
			`{"aid":"${service.aid}","data":[{"tid":"good","tid":"","subid":"s","evt":"e","rvn":1,"rvn":"1"}]}`,
		),
		`data[0].tid must be ${text}`,
		'data[0].rvn must be an integer',
	);
	await assertNothingStored(service);
});

test('one answer names every invalid row and field, and valid rows are not stored', async () => {
	const service = await openAccount();
	const data = Array.from({ length: 9 }, () => event());
	data[3] = event({ tid: undefined });
	data[7] = event({ rvn: '12' });
	await assertRefused(
		await service.upload({ aid: service.aid, data }),
		'{"message":"Error inserting subscription.","validationErrors":"data[3].tid is required; data[7].rvn must be an integer"}',
	);
	data[7] = event({ tid: 1, subid: null, cid: 2, evt: '', rvn: 1.5 });
	await assertProblems(
		await service.upload({ aid: service.aid, data, simulate: 'no' }),
		'simulate must be a boolean',
		'data[3].tid is required',
		`data[7].tid must be ${text}`,
		`data[7].subid must be ${text}`,
		`data[7].cid must be ${text}`,
		`data[7].evt must be ${text}`,
		'data[7].rvn must be an integer',
	);
	await assertNothingStored(service);
});

test('an error over 2,000 characters ends with the number of further problems', async () => {
	const service = await openAccount();
	const answer = await service.upload({
		aid: service.aid,
		data: Array.from({ length: 30 }, () => ({ tid: 1, subid: 2, evt: 3, cid: 4, rvn: 5.5 })),
	});
	assert.equal(answer.status, 400);
	const { message, validationErrors } = (await answer.json()) as Record<string, string>;
	assert.equal(message, 'Error inserting subscription.');
	assert.ok(validationErrors && validationErrors.length <= 2000);
	const parts = validationErrors.split('; ');
	const more = /^and (\d+) more$/.exec(parts.pop() as string);
	assert.equal(parts.length + Number(more?.[1]), 30 * 5);
	assert.equal(parts[0], `data[0].tid must be ${text}`);
	// As many as fit: one more would exceed the limit.
	assert.ok(validationErrors.length + `; data[3].evt must be ${text}`.length > 2000);
});

test('in a request with far too many objects, only as many are checked as any plan allows', async () => {
	const service = await openAccount();
	const answer = await service.upload(`{"aid":"${service.aid}","data":[${'{},'.repeat(80_000)}{}]}`);
	assert.equal(answer.status, 400);
	const { validationErrors } = (await answer.json()) as { validationErrors: string };
	const parts = validationErrors.split('; ');
	assert.equal(parts[0], 'data must have at most 30 objects, it has 80001');
	const more = /^and (\d+) more$/.exec(parts.pop() as string);
	// `tid`, `subid` and `evt` of each.
	assert.equal(parts.length + Number(more?.[1]), 1 + 1000 * 3);
});

test('more than 30 objects are refused', async () => {
	const service = await openAccount();
	const data = Array.from({ length: 31 }, () => event());
	await assertProblems(
		await service.upload({ aid: service.aid, data }),
		'data must have at most 30 objects, it has 31',
	);
	data[30] = event({ evt: undefined });
	await assertProblems(
		await service.upload({ aid: service.aid, data, simulate: true }),
		'data must have at most 30 objects, it has 31',
		'data[30].evt is required',
	);
	await assertNothingStored(service);
});

test("more objects than the key's plan allows are refused", async () => {
	const service = await openAccount({ maxEvents: 2 });
	const many = (count: number) => ({ aid: service.aid, data: Array.from({ length: count }, () => event()) });
	await assertProblems(await service.upload(many(3)), 'data must have at most 2 objects, it has 3');
	await assertNothingStored(service);
	assert.equal((await service.upload(many(2))).status, 201);
});

test("an unknown, a disabled and another client's account get the same answer", async () => {
	const service = await openAccount();
	const other = await openAccount();
	const disabled = `${service.aid}-old`;
	await service.store.control.createAccount({ aid: disabled, client: service.client, origins: [] }, (id) =>
		service.store.createAccountDatabase(id),
	);
	await service.store.control.setAccountDisabled(disabled, true);
	await service.directory.refresh();
	for (const aid of [
		'c-a-nobody',
		disabled,
		other.aid,
		service.aid.toUpperCase(),
		`${service.aid} `,
		'__proto__',
		'constructor',
		'../control',
		'1',
	]) {
		const answer = await service.upload({ aid, data: [event()] });
		await assertRefused(
			answer,
			`{"message":"No account ${aid} is available to this API key.","validationErrors":"Invalid account"}`,
		);
	}
	assert.deepEqual(await service.stored(other.aid), []);
	assert.deepEqual(await service.stored(disabled), []);

	await service.store.control.setAccountDisabled(disabled, false);
	await service.directory.refresh();
	assert.equal((await service.upload({ aid: disabled, data: [event()] })).status, 201);
});

test('JSON is checked before the account, and the account before the rows', async () => {
	const service = await openAccount();
	const malformed = await service.upload('{"aid":"c-a-nobody","data":[{}]');
	assert.equal(((await malformed.json()) as { message: string }).message, 'Malformed JSON.');

	for (const rest of [{}, { data: [] }, { data: [{}] }, { data: [event()], simulate: 'no' }]) {
		const answer = await service.upload({ aid: 'c-a-nobody', ...rest });
		assert.equal(((await answer.json()) as { validationErrors: string }).validationErrors, 'Invalid account');
	}
	// If no account is named, all problems are listed at once.
	await assertProblems(
		await service.upload({ aid: '', data: [{ tid: 'T-1', subid: 'S-1' }] }),
		`aid must be ${text}`,
		'data[0].evt is required',
	);
});

/** Waits for a lease: the first request of a key waits for it before its body is read, later ones do not. */
async function warmUp(service: ServedAccount): Promise<void> {
	await service.upload({ aid: service.aid, data: [event()], simulate: true });
}

test('nothing is stored from a body shorter than its content-length', async (t) => {
	const service = await openAccount();
	await warmUp(service);
	const body = JSON.stringify({ aid: service.aid, data: [event()] });
	const head = uploadHead({ 'x-api-key': service.key, 'content-length': body.length + 1 });

	const ended = await connectTo(t, service.url);
	ended.send(head, body);
	ended.end();
	const answer = await ended.answer();
	assert.equal(answer.status, 400);
	assert.equal(answer.body, '{"message":"Bad request.","validationErrors":null}');
	assert.match(answer.headers.get('x-request-id') ?? '', /^[0-9a-f-]{36}$/);

	const brokenOff = await connectTo(t, service.url);
	brokenOff.send(head, body);
	brokenOff.destroy();
	await brokenOff.closed;

	// When this is answered, earlier requests on other connections have been decided.
	assert.equal((await service.upload({ aid: service.aid, data: [event({ tid: 'after' })] })).status, 201);
	assert.deepEqual(
		(await service.stored()).map(({ tid }) => tid),
		['after'],
	);
});

test('nothing is stored from an incomplete chunked body', async (t) => {
	const service = await openAccount();
	await warmUp(service);
	const body = JSON.stringify({ aid: service.aid, data: [event()] });
	const connection = await connectTo(t, service.url);
	connection.send(
		uploadHead({ 'x-api-key': service.key, 'transfer-encoding': 'chunked' }),
		`${body.length.toString(16)}\r\n${body}\r\n`,
	);
	connection.end();
	assert.equal((await connection.answer()).status, 400);
	await assertNothingStored(service);
});

test('nothing is stored from a body longer than its content-length', async (t) => {
	const service = await openAccount();
	const body = JSON.stringify({ aid: service.aid, data: [event()] });
	const connection = await connectTo(t, service.url);
	connection.send(uploadHead({ 'x-api-key': service.key, 'content-length': body.length - 1 }) + body);
	assert.equal((await connection.answer()).status, 400);
	await connection.closed;
	await assertNothingStored(service);
});

test('a time without a zone, of the future, too old or of no calendar is refused by name', async (t) => {
	const service = await startService(t, { now: () => Date.UTC(2026, 10, 21, 10) });
	const times = [
		'2026-11-20T10:00:00',
		'2026-11-21T10:01:01Z',
		'2025-10-01T10:00:00Z',
		'2026-02-30T10:00:00Z',
		'yesterday',
		5,
	];
	for (const at of times) {
		const answer = await service.upload({ aid: service.aid, data: [event({ at })] });
		assert.equal(answer.status, 400, String(at));
		const { validationErrors } = (await answer.json()) as { validationErrors: string };
		assert.match(validationErrors, /^data\[0\]\.at must be a time with a zone/);
	}
	const ahead = await service.upload({ aid: service.aid, data: [event({ at: '2026-11-21T10:01:00Z' })] });
	assert.equal(ahead.status, 201);
});
