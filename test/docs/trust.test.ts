import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { signId as signIdByClient } from '../../client/src/index.ts';
import { signId } from '../../src/core/domain/signed-id.ts';

const page = readFileSync(join(import.meta.dirname, '../../docs/how-to/trust.md'), 'utf8');
const secret = 'caskade_identity_example';

interface Vector {
	readonly kind: 'cid' | 'tid';
	readonly id: string;
	readonly signed: string;
}

/** The example in a language that has this in it. */
function example(language: string, contains = ''): string {
	const all = page.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'));
	return all.map(([, text]) => text as string).find((text) => text.includes(contains)) as string;
}

const vectors: readonly Vector[] = JSON.parse(example('json'));

test('the service and its client sign as the test vectors say', async () => {
	for (const { kind, id, signed } of vectors) {
		assert.equal(signId(secret, kind, id), signed);
		assert.equal(await signIdByClient(secret, kind, id), signed);
	}
});

/** What prints the signed id for the three arguments, in each language. */
const programs: Readonly<Record<string, readonly string[]>> = {
	node: [
		process.execPath,
		'--input-type=module',
		'-e',
		`${example('js', 'createHmac')}\nconsole.log(signId(...process.argv.slice(1)));`,
	],
	python: ['python3', '-c', `${example('python')}\nimport sys\nprint(sign_id(*sys.argv[1:]))`],
	php: ['php', '-r', `${example('php')}\necho sign_id(...array_slice($argv, 1)), "\\n";`, '--'],
	ruby: ['ruby', '-e', `${example('ruby')}\nputs sign_id(*ARGV)`, '--'],
};

for (const [language, [command = '', ...args]] of Object.entries(programs))
	test(`the example in ${language} signs as the test vectors say`, (t) => {
		for (const { kind, id, signed } of vectors) {
			const environment = { ...process.env, PYTHONIOENCODING: 'utf-8', LC_ALL: 'C.UTF-8' };
			const ended = spawnSync(command, [...args, secret, kind, id], { encoding: 'utf8', env: environment });
			if (ended.error) return t.skip(`there is no ${command} here`);
			assert.equal(ended.stdout, `${signed}\n`, ended.stderr);
		}
	});
