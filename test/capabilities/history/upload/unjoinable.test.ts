import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { openAccount } from '../../../shared-server.ts';
import { csvOf, fileOf, uploadFile } from './files.ts';

test('rows with a key that joins nobody are stored, counted and named', async (t) => {
	const service = await openAccount();
	const path = fileOf(
		t,
		'tid,subid,cid,evt,rvn\nu-1,s-1,undefined,newsletter,1\nu-2,s-2,C-2,newsletter,1\nu-3,null,,newsletter,1\n',
		'keys.csv',
	);
	const { code, stdout, stderr } = await uploadFile(service, path);
	assert.equal(code, 0);
	assert.match(stdout, /^3 rows, 3 stored, 0 duplicates, 0 conflicts, 0 rejected\./m);
	assert.match(
		stderr,
		/^caskade: 2 rows of \S+keys\.csv have a tid, subid or cid that joins nobody, because .*: lines 2 and 4\. Send no cid where there is none/m,
	);
	const report = readFileSync(`${path}.report.csv`, 'utf8');
	assert.match(report, /\n2,u-1,stored,a key joins nobody,/);
	assert.match(report, /\n3,u-2,stored,,/);
	const again = await uploadFile(service, path, ['--json']);
	const { duplicates, unjoinable } = JSON.parse(again.stdout);
	assert.deepEqual([again.code, duplicates, unjoinable], [0, 3, 2]);
});

test('of many such rows the first are named', async (t) => {
	const service = await openAccount();
	const { stderr } = await uploadFile(
		service,
		fileOf(
			t,
			csvOf(40, (row) => `k-${row},k-${row},guest,newsletter,1`),
		),
	);
	assert.match(stderr, /: lines 2, 3, .*, 21 and 20 more\. Send/);
	const without = await uploadFile(service, fileOf(t, csvOf(3)));
	assert.doesNotMatch(without.stderr, /joins nobody/);
});
