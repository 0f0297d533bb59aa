import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { globSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { takesLong } from './quick.ts';
import { temporaryFolder } from './support.ts';

const root = join(import.meta.dirname, '..');

test('the core is whole without any capability: it compiles alone, so it uses nothing that one declares', {
	skip: takesLong,
}, (t) => {
	const files = globSync('core/**/*.ts', { cwd: join(root, 'src'), exclude: ['core/collect/tag/**'] });
	assert.ok(files.length > 200);
	const project = join(temporaryFolder(t), 'tsconfig.json');
	writeFileSync(
		project,
		JSON.stringify({
			extends: join(root, 'tsconfig.json'),
			compilerOptions: { typeRoots: [join(root, 'node_modules/@types')] },
			include: [],
			files: files.map((file) => join(root, 'src', file)),
		}),
	);
	const compiler = join(root, 'node_modules/typescript/bin/tsc');
	const { stdout, status } = spawnSync(process.execPath, [compiler, '--project', project], {
		encoding: 'utf8',
	});
	assert.equal(status, 0, stdout);
});
