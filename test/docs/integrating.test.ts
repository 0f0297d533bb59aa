import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { packInto } from '../client/pack.ts';
import { TestProcess } from '../process.ts';
import { takesLong } from '../quick.ts';
import { startService, temporaryFolder } from '../support.ts';

const page = readFileSync(join(import.meta.dirname, '../../docs/how-to/integrating.md'), 'utf8');

function examples(language: string): string[] {
	return [...page.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'))].map(
		([, text]) => text as string,
	);
}

test('the examples work as described', { skip: takesLong }, async (t) => {
	const service = await startService(t);
	const folder = temporaryFolder(t);
	const environment = { CASKADE_URL: service.url, CASKADE_KEY: service.key };
	// A process of a test gets nothing that begins with CASKADE_, but what it is told.
	const run = async (command: string, args: readonly string[]) => {
		const ended = await new TestProcess(command, args, environment).ended;
		assert.equal(ended.code, 0, `${command} ${args.join(' ')}\n${ended.stdout}${ended.stderr}`);
		return ended.stdout;
	};
	await packInto(folder);
	writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
	const outputs: string[] = [];
	for (const [index, text] of examples('ts').entries()) {
		const path = join(folder, `example-${index}.ts`);
		writeFileSync(path, text);
		outputs.push(await run(process.execPath, [path]));
	}
	assert.match(outputs[0] as string, /stored: 2,\s+duplicates: 0,\s+conflicts: 0/);
	assert.match(outputs[1] as string, /requests: 4,\s+stored: 100/);
	assert.equal(outputs[2], 'true\ntrue\n');

	const [first, simulated, ...others] = examples('sh');
	assert.match(first as string, /^export CASKADE_URL=/);
	const answers = [];
	for (const text of [simulated as string, ...others]) answers.push(await run('sh', ['-c', text]));
	const [simulation, receipt, usage] = answers.map((answer) => JSON.parse(answer));
	assert.deepEqual(simulation, { message: 'Subscription simulated successfully.', validationErrors: null });
	const [shown] = examples('json')
		.map((text) => JSON.parse(text))
		.filter((answer) => 'stored' in answer);
	assert.deepEqual(
		{ ...receipt, receivedAt: '', requestId: '' },
		{ ...shown, receivedAt: '', requestId: '' },
	);
	assert.ok(usage.used >= 6);
	assert.equal((await service.stored()).length, 103);

	const python = spawnSync('python3', ['-c', '']);
	if (python.status !== 0) return t.diagnostic('the example in Python is not run: there is no python3');
	const [program] = examples('python');
	assert.equal(await run('python3', ['-c', program as string]), '[True, False]\n');
	assert.equal((await service.stored()).length, 143);
});
