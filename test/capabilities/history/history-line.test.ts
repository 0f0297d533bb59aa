import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type HitLine, readHistoryLine } from '../../../src/capabilities/history/history-line.ts';
import { examples } from '../../quick.ts';

const nowMs = Date.UTC(2026, 10, 21);
const context = { nowMs, channelRules: [] };
const hit = {
	type: 'hit',
	at: '2026-01-31T10:00:00Z',
	visitor: 'user-1',
	url: 'https://shop.example/pricing',
};
const sale = { type: 'subscription', at: '2026-01-31T10:05:00Z', tid: 'T', subid: 'S', evt: 'newsletter' };

const read = (fields: unknown) => readHistoryLine(fields, context);

function problemsOf(fields: unknown): string {
	const entry = read(fields);
	return typeof entry === 'string' ? entry : assert.fail(`${entry.type} instead of a problem`);
}

function readHit(fields: object): HitLine {
	const entry = read({ ...hit, ...fields });
	return typeof entry !== 'string' && entry.type === 'hit' ? entry : assert.fail(JSON.stringify(entry));
}

test('a hit gets page, channel and device like a live one', () => {
	const { body, ...whose } = readHit({
		url: 'https://shop.example/Pricing/?utm_source=news&utm_medium=email&mail=a@b.example#top',
		referrer: 'https://www.google.com/search?q=secret',
		userAgent:
			'Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.0 Mobile/15E148 Safari/604.1',
		events: [{ name: 'checkout', tid: 'T-1', rvn: 499, currency: 'GBP' }],
		cid: 'C-1',
	});
	assert.deepEqual(whose, {
		type: 'hit',
		atMs: Date.UTC(2026, 0, 31, 10),
		visitor: { name: 'user-1' },
		visit: null,
	});
	assert.deepEqual(body, {
		page: 'Pricing',
		title: null,
		cid: 'C-1',
		channel: 'email',
		device: 'mobile',
		url: 'https://shop.example/Pricing/?utm_source=news&utm_medium=email',
		referrer: 'https://www.google.com/search',
		events: [{ name: 'checkout', tid: 'T-1', rvn: 499, currency: 'GBP' }],
	});
});

test('channel and device may be given', () => {
	const { body } = readHit({ channel: 'podcast', device: 'tv', userAgent: '' });
	assert.deepEqual([body.channel, body.device], ['podcast', 'tv']);
	const { body: other } = readHit({});
	assert.deepEqual([other.channel, other.device], ['direct', 'other']);
});

test('events may be objects, names, or a text of either', () => {
	const expected = [{ name: 'a' }, { name: 'b' }];
	for (const events of [expected, ['a', 'b'], 'a;b', '["a","b"]', '[{"name":"a"},{"name":"b"}]'])
		assert.deepEqual(readHit({ events }).body.events, expected);
	assert.deepEqual(readHit({ events: null }).body.events, []);
	assert.match(problemsOf({ ...hit, events: '[{' }), /^events must be /);
	assert.match(problemsOf({ ...hit, events: [{}] }), /^events\[0\]\.name is required/);
});

test("a bot's hit is recognised by its user agent", () => {
	assert.deepEqual(read({ ...hit, userAgent: 'Googlebot/2.1 (+http://www.google.com/bot.html)' }), {
		type: 'bot',
	});
});

test('a subscription event has the fields of an upload, and a time', () => {
	assert.deepEqual(read({ ...sale, cid: '', rvn: -250 }), {
		type: 'subscription',
		event: {
			tid: 'T',
			subid: 'S',
			cid: null,
			evt: 'newsletter',
			rvn: -250,
			receivedAtMs: Date.UTC(2026, 0, 31, 10, 5),
		},
	});
});

test('every problem of a line is named, without its values', () => {
	const text = 'a string of 1 to 255 characters, without control characters or lone surrogates';
	assert.equal(
		problemsOf({ type: 'subscription', at: 'secret', subid: 7, evt: 'e\n', rvn: 'secret' }),
		`at must be a past time with its zone, such as 2026-01-31T10:00:00Z; tid is required; subid must be ${text}; evt must be ${text}; rvn must be an integer, in whole pence or cents, for example 499`,
	);
	assert.match(problemsOf({ ...hit, visitor: undefined, title: 3 }), /^visitor must .*; title must be/);
	assert.equal(problemsOf({ ...hit, type: 'hits' }), 'type must be hit or subscription');
	for (const fields of [null, 3, 'text', []]) assert.equal(problemsOf(fields), 'the line must be an object');
});

test('a time has a zone and an existing day, and is in the past', () => {
	const isGood = (at: unknown) => typeof read({ ...hit, at }) !== 'string';
	for (const at of [
		'2026-01-31T10:00Z',
		'2026-01-31T10:00:00.123456Z',
		'2026-01-31T10:00:00+05:30',
		'2024-02-29T00:00:00Z',
		'2026-11-21T00:00:00Z',
	])
		assert.ok(isGood(at), at);
	for (const at of [
		'2026-01-31T10:00:00',
		'2026-01-31',
		'2026-02-29T00:00:00Z',
		'2026-02-31T00:00:00Z',
		'2026-04-31T23:00:00-05:00',
		'2026-13-01T00:00:00Z',
		'2026-11-21T00:00:00.001Z',
		'1969-12-31T23:59:59Z',
		'Jan 31 2026',
		1769853600000,
		null,
		undefined,
	])
		assert.ok(!isGood(at), String(at));
});

test('every valid time is read to the millisecond', () => {
	fc.assert(
		fc.property(fc.integer({ min: 0, max: nowMs }), (atMs) => {
			assert.equal(readHit({ at: new Date(atMs).toISOString() }).atMs, atMs);
		}),
	);
});

test('every line is read or refused, and none throws', () => {
	fc.assert(
		fc.property(
			fc.record(
				{ type: fc.constantFrom('hit', 'subscription'), at: fc.constantFrom(hit.at, 'x') },
				{ requiredKeys: [] },
			),
			fc.object({ maxDepth: 2 }),
			fc.constantFrom('visitor', 'url', 'events', 'cid', 'tid', 'rvn', 'device'),
			fc.anything(),
			(fields, others, name, value) => {
				const entry = read({ ...others, ...fields, [name]: value });
				assert.notEqual(entry, '');
			},
		),
		{ numRuns: examples(500) },
	);
});

test('an invalid web address is not a page, and is reported', () => {
	for (const url of ['not a url', '/pricing', 'mailto:a@b.example'])
		assert.equal(
			problemsOf({ ...hit, url }),
			'url must be a web address such as https://shop.example/pricing',
		);
	for (const url of [undefined, null, '', 'http://shop.example'])
		assert.equal(typeof readHistoryLine({ ...hit, url }, context), 'object', `${url}`);
});

test('a line of an upload that names a visitor is refused, because it would join nobody', () => {
	assert.equal(
		problemsOf({ ...sale, visitor: 'c-17' }),
		'only hits have visitor; a subscription event is joined by tid or cid',
	);
	assert.equal(typeof readHistoryLine({ ...sale, visitor: '' }, context), 'object', 'an empty column of CSV');
});

test('a hit names its visitor or has a seed', () => {
	const seed = '0123456789abcdef'.repeat(2);
	const { visitor: _, ...unnamed } = hit;
	for (const fields of [
		{ ...unnamed, seed },
		{ ...unnamed, seed, visitor: '' },
	]) {
		const entry = readHistoryLine(fields, context);
		assert(typeof entry === 'object' && entry.type === 'hit');
		assert.deepEqual(entry.visitor, { seed });
	}
	assert.equal(problemsOf({ ...hit, seed }), 'visitor and seed must not both be given');
	for (const invalid of [seed.toUpperCase(), seed.slice(1), 'x', 7])
		assert.equal(problemsOf({ ...unnamed, seed: invalid }), 'seed must be 32 lower-case hex digits');
	assert.match(problemsOf({ ...unnamed, seed: '' }), /^visitor is required/);
	assert.equal(
		problemsOf({ ...sale, seed }),
		'only hits have seed; a subscription event is joined by tid or cid',
	);
});
