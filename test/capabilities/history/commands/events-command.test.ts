import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openStore } from '../../../../src/assembly/open-store.ts';
import { addAccount, startWritingFor, subscriptionEvent, upload } from '../../../core/store/engines.ts';
import { assertRefused, caskade, caskadeJson, mainPath, TestProcess } from '../../../process.ts';
import { temporaryFolder } from '../../../support.ts';

const lines = (text: string): unknown[] =>
	text
		.split('\n')
		.slice(0, -1)
		.map((line) => JSON.parse(line));

test('events prints the stored events of an account, one JSON object per line', async (t) => {
	const address = `sqlite:${temporaryFolder(t)}`;
	const at = ['--database', address];
	const store = await openStore(address);
	t.after(() => store.close());
	const accountId = await addAccount(store, 'c-a-acme-uk');
	const otherId = await addAccount(store, 'c-a-acme-us');
	const writer = await startWritingFor(t, store);
	const given = [
		subscriptionEvent({ tid: 'T-1', cid: 'C "1"\\', rvn: -5 }),
		subscriptionEvent({ tid: 't-1', evt: 'Ünïcode 👩‍👩‍👧' }),
	];
	await upload(writer, accountId, given);
	await upload(writer, otherId, [subscriptionEvent({ tid: 'T-1' })]);

	const ended = await caskade(['events', 'c-a-acme-uk', ...at]);
	const expected = given.map((event) => ({ ...event, receivedAt: '2026-11-21T10:00:00.000Z' }));
	assert.deepEqual(lines(ended.stdout), expected);
	assert.equal(ended.stderr, '');
	assert.deepEqual(await caskadeJson(['events', 'c-a-acme-uk', ...at]), expected);
	assert.deepEqual(lines((await caskade(['events', 'c-a-acme-uk', '--tid', 'T-1', ...at])).stdout), [
		expected[0],
	]);
	const none = await caskade(['events', 'c-a-acme-uk', '--tid', 'T', ...at]);
	assert.deepEqual({ code: none.code, stdout: none.stdout }, { code: 0, stdout: '' });
	assertRefused(await caskade(['events', 'c-a-none', ...at]), /There is no account c-a-none/);
});

test('events prints any number of events, and exits quietly when its reader closes the pipe', async (t) => {
	const address = `sqlite:${temporaryFolder(t)}`;
	const store = await openStore(address);
	t.after(() => store.close());
	const accountId = await addAccount(store, 'c-a-acme-uk');
	const writer = await startWritingFor(t, store);
	const given = Array.from({ length: 5000 }, () => subscriptionEvent({ cid: 'x'.repeat(200) }));
	await upload(writer, accountId, given);

	const { stdout, code } = await caskade(['events', 'c-a-acme-uk', '--database', address]);
	assert.equal(code, 0);
	assert.deepEqual(
		lines(stdout).map((event) => (event as { tid: string }).tid),
		given.map(({ tid }) => tid),
	);
	const command = '"$0" "$@" | head -n 1; echo "$' + '{PIPESTATUS[0]}"';
	const args = ['-c', command, process.execPath, mainPath, 'events', 'c-a-acme-uk', '--database', address];
	const cut = await new TestProcess('bash', args).ended;
	assert.equal(cut.stderr, '');
	assert.match(cut.stdout, /^\{"tid":[^\n]+\n0\n$/);
});
