import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { eventually } from '../../../eventually.ts';
import { freePort } from '../../../free-port.ts';
import { mainPath, TestProcess } from '../../../process.ts';
import { openAccount } from '../../../shared-server.ts';
import { csvOf, fileOf, uploadArgs, uploadFile } from './files.ts';

test('a server that does not answer is told while the upload waits, and when it gives up', async (t) => {
	const service = { ...(await openAccount()), url: `http://127.0.0.1:${await freePort()}` };
	const path = fileOf(t, csvOf(40));
	const { code, stdout, stderr } = await uploadFile(service, path, ['--retry-for', '3s']);
	assert.equal(code, 2);
	assert.match(stderr, /^no answer since [1-3] s \(ECONNREFUSED\), trying again\n/);
	assert.match(
		stderr,
		/caskade: Stopped: the server does not answer \(connect ECONNREFUSED \S+\)\. 40 rows are left; run the same command again to continue\.\n$/,
	);
	assert.match(stdout, /^40 rows, 0 stored, 0 duplicates, 0 conflicts, 0 rejected\.\n$/);
	assert.ok(!existsSync(`${path}.progress`) && !existsSync(`${path}.report.csv`));
});

test('Ctrl+C ends an upload that waits for a server at once', async (t) => {
	const service = { ...(await openAccount()), url: `http://127.0.0.1:${await freePort()}` };
	const args = uploadArgs(service, fileOf(t, csvOf(40)));
	await using uploading = new TestProcess(process.execPath, [mainPath, ...args], {
		CASKADE_KEY: service.key,
	});
	await eventually('it tells that it waits', () => /trying again/.test(uploading.stderr));
	uploading.child.kill('SIGINT');
	const { code, stderr } = await uploading.endsWithin(2000);
	assert.equal(code, 2);
	assert.match(stderr, /caskade: Stopped\. 40 rows are left; run the same command again to continue\.\n$/);
});
