import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { askOnTerminal } from '../../../src/kit/cli/confirm.ts';
import { caskade, caskadeJson } from '../../process.ts';
import { temporaryFolder } from '../../support.ts';

/** A terminal at which somebody types. */
function terminal(typed: string, isTTY = true) {
	const input = Object.assign(new PassThrough(), { isTTY });
	input.end(typed);
	return { input, output: Object.assign(new PassThrough(), { isTTY }) };
}

test('what cannot be undone is asked at a terminal by its name, and done without a word in a script or with --yes', async () => {
	const ask = (typed: string, options = {}, isTTY = true) =>
		askOnTerminal('The plan huge would be deleted.', 'huge', options, terminal(typed, isTTY));
	await assert.rejects(ask('yes\n'), /Nothing was done/);
	await assert.rejects(ask(''), /Nothing was done/);
	await ask('huge\n');
	await ask('', { yes: true });
	await ask('', {}, false);
});

test('scripts remove a person, a key and a plan as before', async (t) => {
	const at = ['--database', `sqlite:${temporaryFolder(t)}/data`];
	const run = (...args: string[]) => caskadeJson([...args, ...at]);
	await run('account', 'create', 'c-a-acme', '--client', 'acme');
	await run('plan', 'create', 'huge', '--rate', '20');
	await run('plan', 'delete', 'huge', '--yes');
	const key = (await run('key', 'issue', '--client', 'acme')) as { id: string };
	assert.ok(((await run('key', 'revoke', key.id, '--yes')) as { revokedAt: string }).revokedAt);
	for (const who of ['ada', 'bob'])
		await run(
			'user',
			'create',
			`${who}@example.com`,
			'--role',
			'admin',
			'--console-url',
			'http://127.0.0.1:8081',
		);
	await run('user', 'remove', 'ada@example.com');
	const last = await caskade(['user', 'remove', 'bob@example.com', ...at]);
	assert.match(last.stderr, /the last admin/);
});
