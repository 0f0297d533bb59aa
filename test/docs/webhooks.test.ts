import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { webhookEvents } from '../../src/capabilities/webhooks/domain/webhook.ts';
import { packInto } from '../client/pack.ts';
import { freePort } from '../free-port.ts';
import { caskadeJson, TestProcess } from '../process.ts';
import { takesLong } from '../quick.ts';
import { temporaryFolder } from '../support.ts';

const page = readFileSync(join(import.meta.dirname, '../../docs/how-to/webhooks.md'), 'utf8');

function example(language: string): string {
	const [, text = ''] = new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'ms').exec(page) ?? [];
	return text;
}

test('the receivers of the documentation take signed messages and refuse others', {
	skip: takesLong,
}, async (t) => {
	const folder = temporaryFolder(t);
	await packInto(folder);
	writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
	const path = join(folder, 'receiver.ts');
	writeFileSync(path, example('ts'));
	const hasPython = spawnSync('python3', ['-c', '']).status === 0;
	if (!hasPython) t.diagnostic('the example in Python is not run: there is no python3');
	const receivers: [string, string[]][] = [[process.execPath, [path]]];
	if (hasPython) receivers.push(['python3', ['-c', example('python')]]);
	const at = ['--database', `sqlite:${join(folder, 'data')}`];
	await caskadeJson(['account', 'create', 'c-a-acme-uk', '--client', 'acme', ...at]);
	for (const [command, args] of receivers) {
		const port = await freePort();
		const url = `http://127.0.0.1:${port}/`;
		const flags = ['--url', url, '--events', 'segment.entered', '--allow-private'];
		const create = ['webhook', 'create', 'c-a-acme-uk', ...flags, ...at];
		const { id, secret } = (await caskadeJson(create)) as { id: string; secret: string };
		const environment = { PORT: String(port), WEBHOOK_SECRET: secret };
		await using receiver = new TestProcess(command, args, environment);
		await receiver.printed(/ready/);
		const tested = await caskadeJson(['webhook', 'test', 'c-a-acme-uk', id, ...at]);
		assert.equal((tested as { status: number }).status, 204, command);
		await receiver.printed(/webhook\.test/);
		const headers = { 'webhook-id': 'msg_1', 'webhook-timestamp': '1', 'webhook-signature': 'v1,AA==' };
		const forged = await fetch(url, { method: 'POST', headers, body: '{}' });
		assert.equal(forged.status, 400, command);
	}
});

test('every type of message is documented', { skip: takesLong }, () => {
	for (const type of [...webhookEvents, 'segments.recomputed', 'webhook.test'])
		assert.match(page, new RegExp(`^\\| \`${type}\` \\|`, 'm'));
});
