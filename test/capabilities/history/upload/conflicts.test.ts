import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { openAccount } from '../../../shared-server.ts';
import { event } from '../../../support.ts';
import { csvOf, fileOf, uploadFile } from './files.ts';

test('a conflict is not a success: exit code 3, and a line that names the rows', async (t) => {
	const service = await openAccount();
	await service.upload({ aid: service.aid, data: [event({ tid: 'w-3', rvn: 1 })] });
	const path = fileOf(t, 'tid,subid,evt,rvn\nw-3,s-3,newsletter,777\n', 'conf.csv');
	const { code, stdout, stderr } = await uploadFile(service, path);
	assert.equal(code, 3);
	assert.match(
		stdout,
		/^1 row, 0 stored, 0 duplicates, 1 conflict, 0 rejected\. \S+conf\.csv\.report\.csv has the outcome of each row\.$/m,
	);
	assert.match(
		stderr,
		/^caskade: 1 row of \S+conf\.csv is not stored, because its tid is stored with other content: line 2\. If you expect this, add --conflicts ok\.$/m,
	);
	assert.match(
		readFileSync(`${path}.report.csv`, 'utf8'),
		/\n2,w-3,conflict,stored before with other content,/,
	);
	assert.ok(!existsSync(`${path}.progress`));
	assert.deepEqual(
		(await service.stored()).map(({ rvn }) => rvn),
		[1],
	);

	const expected = await uploadFile(service, path, ['--conflicts', 'ok']);
	assert.equal(expected.code, 0);
	assert.doesNotMatch(expected.stderr, /not stored/);
	const json = await uploadFile(service, path, ['--json']);
	assert.deepEqual([json.code, JSON.parse(json.stdout).conflicts], [3, 1]);
});

test('of many conflicts the first are named; rejected rows come first in the exit code', async (t) => {
	const service = await openAccount();
	await uploadFile(service, fileOf(t, csvOf(60)));
	const changed = fileOf(
		t,
		csvOf(62, (row) => (row % 2 === 0 ? `order-${row},other,,newsletter,1` : undefined)),
	);
	const { code, stderr } = await uploadFile(service, changed);
	assert.equal(code, 3);
	const lines = Array.from({ length: 20 }, (_, index) => 2 + 2 * index).join(', ');
	assert.ok(stderr.includes(`caskade: 30 rows of ${changed} are not stored`), stderr);
	assert.ok(stderr.includes(`: lines ${lines} and 10 more. If you expect this`), stderr);
	const spoiled = fileOf(t, `${csvOf(1, () => 'order-0,other,,newsletter,1')}x\n`);
	const both = await uploadFile(service, spoiled, ['--on-bad', 'skip']);
	assert.equal(both.code, 1);
	assert.match(both.stderr, /1 row of \S+ is not stored/);
});

test('a repeat with the same content is a success', async (t) => {
	const service = await openAccount();
	const path = fileOf(t, csvOf(30));
	assert.equal((await uploadFile(service, path)).code, 0);
	const again = await uploadFile(service, path);
	assert.equal(again.code, 0);
	assert.match(again.stdout, /30 rows, 0 stored, 30 duplicates, 0 conflicts, 0 rejected\./);
});
