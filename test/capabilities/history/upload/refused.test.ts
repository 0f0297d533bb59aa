import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { test } from 'node:test';
import { eventually } from '../../../eventually.ts';
import { assertRefused, caskadeWithin } from '../../../process.ts';
import { openAccount } from '../../../shared-server.ts';
import { roomyPlan, startService } from '../../../support.ts';
import { csvOf, fileOf, uploadArgs, uploadFile } from './files.ts';

test('a wrong key, account or URL is told with what to check, and then the corrected command works', async (t) => {
	const service = await openAccount();
	const path = fileOf(t, csvOf(40));
	const keyFile = fileOf(t, 'caskade_key_wrong', 'key');
	const { key: reader } = await service.store.control.issueKey(service.client, service.planName, {
		scope: 'read',
	});
	await service.directory.refresh();
	const readerFile = fileOf(t, reader, 'key');
	const wrong: readonly [flags: readonly string[], sentence: RegExp][] = [
		[
			['--key-file', keyFile],
			/The server refuses the API key \(403, request [0-9a-f-]{36}\)\. Check the key in --key-file/,
		],
		[['--key-file', readerFile], /The server refuses the API key \(403.* not one that only reads\./],
		[
			['--aid', 'c-a-nope'],
			/No account c-a-nope is available to this API key\. Check --aid, and whose key it is\./,
		],
		[['--url', `${service.url}/docs`], /There is no Caskade at \S+\/docs \(404.*\)\. Check --url: /],
		[
			['--url', `${service.url}/subscription`],
			/There is no Caskade at \S+\/subscription \(404.*\)\. Check --url: /,
		],
	];
	for (const [flags, sentence] of wrong) {
		const ended = await uploadFile(service, path, ['--json', ...flags]);
		assertRefused({ ...ended, stderr: ended.stderr.split('\n').slice(-2).join('\n') }, sentence);
		assert.deepEqual(readdirSync(dirname(path)), ['events.csv']);
	}
	const { code, stderr } = await uploadFile(service, path);
	assert.equal(code, 0, stderr);
	assert.equal((await service.stored()).length, 40);
});

test('a key that is revoked on the way is changed, and the upload continued', async (t) => {
	const service = await openAccount({ ratePerSecond: 20, burst: 1 });
	const path = fileOf(t, csvOf(3000));
	const uploading = uploadFile(service, path);
	await eventually('some rows are stored', async () => (await service.stored()).length >= 90);
	await service.store.control.revokeKey(service.keyId);
	await service.directory.refresh();
	const { code, stderr, stdout } = await uploading;
	assert.equal(code, 1);
	assert.match(
		stderr,
		/caskade: The server refuses the API key .* [\d,]+ rows are left; then run the command again to continue\.\n$/,
	);
	assert.match(stdout, /^3,000 rows, [\d,]+ stored, .*report\.csv has the outcome of each row\.$/m);
	const { key } = await service.store.control.issueKey(service.client, service.planName);
	await service.store.control.updatePlan({ ...roomyPlan, name: service.planName });
	await service.directory.refresh();
	const again = await caskadeWithin(uploadArgs(service, path), { CASKADE_KEY: key });
	assert.equal(again.code, 0, again.stderr);
	assert.match(again.stdout, /^3,000 rows: [\d,]+ done before/);
	assert.equal((await service.stored()).length, 3000);
});

test('a connection that cannot be secure is said at once', async (t) => {
	const service = await startService(t, { selfSigned: true });
	assertRefused(
		await uploadFile(service, fileOf(t, csvOf(1)), ['--json']),
		/There is no secure connection to https:\/\/127\.0\.0\.1:\d+ \(DEPTH_ZERO_SELF_SIGNED_CERT\)\. .*NODE_EXTRA_CA_CERTS/,
	);
	const plain = await openAccount();
	assertRefused(
		await uploadFile({ ...plain, url: plain.url.replace('http:', 'https:') }, fileOf(t, csvOf(1)), [
			'--json',
		]),
		/There is no secure connection to https:\S+ \(EPROTO\)\. Check --url/,
	);
});
