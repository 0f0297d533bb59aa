import assert from 'node:assert/strict';
import { test } from 'node:test';
import { demoSpending } from '../../../src/capabilities/demo/demo-spending.ts';
import { demoStream } from '../../../src/capabilities/demo/stream.ts';

test('the shop pays for each click on an advertisement, also where the demo adds more visitors', () => {
	const entries = demoStream({
		seed: 1,
		visitors: 200,
		days: 100,
		untilMs: Date.UTC(2026, 5, 1),
		shop: 'http://127.0.0.1:8080/demo/',
	});
	const clicks = entries.filter(
		(entry) => entry.type === 'hit' && entry.fields.url.includes('utm_medium=cpc'),
	);
	const sum = (rows: ReturnType<typeof demoSpending>) => rows.reduce((all, { pence }) => all + pence, 0);
	const spent = demoSpending(entries, []);
	assert.ok(clicks.length > 10);
	assert.equal(sum(spent), 40 * clicks.length);
	assert.deepEqual(
		[...new Set(spent.map(({ channel, campaign }) => `${channel} ${campaign}`))],
		['paid search letters'],
	);
	assert.equal(sum(demoSpending(entries, spent)), 80 * clicks.length);
});
