import assert from 'node:assert/strict';
import { readFileSync, statSync } from 'node:fs';
import { test } from 'node:test';
import { selfSignedPair } from '../../src/core/http/self-signed.ts';
import { csvOf, fileOf, uploadArgs } from '../capabilities/history/upload/files.ts';
import { startRoughProxy } from '../client/rough-proxy.ts';
import { eventually } from '../eventually.ts';
import { mainPath, TestProcess } from '../process.ts';
import { openAccount } from '../shared-server.ts';
import { roomyPlan } from '../support.ts';

const rows = 4500;

/** Starts the command in a process of its own. */
function start(args: readonly string[], key: string): TestProcess {
	return new TestProcess(process.execPath, [mainPath, ...args], { CASKADE_KEY: key });
}

function sizeOf(path: string): number {
	return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

test('over TLS and a network that loses answers, every row is stored once', async (t) => {
	const service = await openAccount();
	const pair = await selfSignedPair();
	const { url, done } = await startRoughProxy(t, service.url, pair, { share: 0.4, seed: 3, stalls: false });
	const path = fileOf(t, csvOf(900));
	const ca = fileOf(t, pair.cert, 'ca.pem');
	await using uploading = new TestProcess(
		process.execPath,
		[mainPath, ...uploadArgs({ ...service, url }, path)],
		{ CASKADE_KEY: service.key, NODE_EXTRA_CA_CERTS: ca },
	);
	const { code, stderr } = await uploading.ended;
	assert.equal(code, 0, stderr);
	assert.ok(done.forwarded < Object.values(done).reduce((sum, count) => sum + count, 0));
	assert.equal((await service.stored()).length, 900);
	const report = readFileSync(`${path}.report.csv`, 'utf8').trimEnd().split('\n').slice(1);
	assert.equal(report.length, 900);
	assert.ok(
		report.every((line) => /,stored,,|,duplicate,sent more than once because/.test(line.replaceAll('"', ''))),
	);
});

test('an upload that is killed repeatedly resumes each time, and ends with every row stored once', async (t) => {
	const service = await openAccount({ ratePerSecond: 60, burst: 1 });
	const path = fileOf(t, csvOf(rows));
	const args = uploadArgs(service, path);
	let size = 0;
	for (const signal of ['SIGKILL', 'SIGINT'] as const) {
		await using uploading = start(args, service.key);
		await eventually('it has come further', () => sizeOf(`${path}.progress`) > size + 2000, 60_000);
		const { code, stderr } = await uploading.kill(signal);
		size = sizeOf(`${path}.progress`);
		if (signal === 'SIGINT') {
			assert.equal(code, 2, stderr);
			assert.match(stderr, /Stopped\. [\d,]+ rows are left; run the same command again to continue\./);
		}
	}
	const before = (await service.stored()).length;
	assert.ok(before > 0 && before < rows, `${before} rows were stored before`);
	await service.store.control.updatePlan({
		...roomyPlan,
		name: service.planName,
		ratePerSecond: 1_000_000,
		burst: 1_000_000,
	});
	await service.directory.refresh();
	await using last = start(args, service.key);
	const { code, stdout, stderr } = await last.ended;
	assert.equal(code, 0, stderr);
	assert.match(stdout, /4,500 rows: [\d,]+ done before, /);
	const stored = await service.stored();
	assert.equal(stored.length, rows);
	assert.equal(new Set(stored.map(({ tid }) => tid)).size, rows);
	const report = readFileSync(`${path}.report.csv`, 'utf8').trimEnd().split('\n').slice(1);
	assert.equal(report.length, rows);
	// What was in flight when it was killed, sixteen requests at most, is a duplicate of its own.
	const repeated = report.filter((line) => line.includes(',duplicate,')).length;
	assert.ok(repeated <= 16 * 30, `${repeated} rows were sent again`);
});
