import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { eventually } from '../../../eventually.ts';
import { assertRefused, caskadeWithin } from '../../../process.ts';
import { openAccount } from '../../../shared-server.ts';
import { event, roomyPlan, startService } from '../../../support.ts';
import { csvOf, fileOf, uploadArgs, uploadFile } from './files.ts';

const lines = (path: string) => readFileSync(path, 'utf8').trimEnd().split('\n');

test('a file is uploaded; the report names every row and the request that stored it', async (t) => {
	const service = await openAccount({ quotaPerMonth: 1000 });
	await service.upload({ aid: service.aid, data: [event({ tid: 'order-3' })] });
	const path = fileOf(t, csvOf(100));
	const { code, stdout, stderr } = await uploadFile(service, path, ['--conflicts', 'ok']);
	assert.equal(code, 0, stderr);
	assert.match(
		stdout,
		/^100 rows: 100 to send in 4 requests\.\nPlan plan-of-acme\d+: .* 0\.4 % of the 999 requests left until /,
	);
	assert.match(
		stdout,
		/100 rows, 99 stored, 0 duplicates, 1 conflict, 0 rejected\. .*events\.csv\.report\.csv has the outcome of each row\.\n$/,
	);
	const stored = await service.stored();
	assert.equal(stored.length, 100);
	const last = stored.find(({ tid }) => tid === 'order-99');
	assert.deepEqual(
		[last?.subid, last?.cid, last?.evt, last?.rvn],
		['sub-99', 'customer-1', 'newsletter', 99],
	);
	const [header, ...rows] = lines(`${path}.report.csv`);
	assert.equal(header, 'line,tid,outcome,reason,requestId');
	assert.equal(rows.length, 100);
	assert.match(rows[0] as string, /^2,order-0,stored,,[0-9a-f-]{36}$/);
	assert.match(rows[3] as string, /^5,order-3,conflict,stored before with other content,[0-9a-f-]{36}$/);
	assert.ok(!existsSync(`${path}.rejected.csv`));
	assert.ok(!existsSync(`${path}.progress`));

	const again = await uploadFile(service, path, ['--json', '--conflicts', 'ok']);
	assert.equal(again.code, 0);
	const { stored: none, duplicates, conflicts } = JSON.parse(again.stdout);
	assert.deepEqual([none, duplicates, conflicts], [0, 99, 1]);
	assert.equal((await service.stored()).length, 100);
});

test('without --url, the server on the data folder is used; without one, --url is asked for', async (t) => {
	const service = await startService(t);
	const path = fileOf(t, csvOf(10));
	const at = (folder: string) => ['--aid', service.aid, '--database', `sqlite:${folder}`];
	const environment = { CASKADE_KEY: service.key };
	assert.equal((await caskadeWithin(['upload', path, ...at(service.folder)], environment)).code, 0);
	assert.equal((await service.stored()).length, 10);
	await service.server.stop();
	for (const folder of [service.folder, `${service.folder}/none`])
		assertRefused(
			await caskadeWithin(['upload', path, ...at(folder)], environment),
			/^caskade: Name the server with --url, for example \S+: no server runs on a data folder here\.\n$/,
		);
});

test('simulated NDJSON is processed completely without being stored', async (t) => {
	const service = await openAccount();
	const text = Array.from({ length: 40 }, (_, row) =>
		JSON.stringify(event({ tid: `t-${row}`, rvn: -5, more: 1 })),
	);
	const path = fileOf(t, text.join('\n'), 'events.ndjson');
	const { code, stdout } = await uploadFile(service, path, ['--simulate', '--json']);
	assert.equal(code, 0);
	assert.equal(JSON.parse(stdout).stored, 40);
	assert.deepEqual(await service.stored(), []);
});

test('invalid rows stop the upload before anything is sent, and can be corrected and uploaded', async (t) => {
	const service = await openAccount();
	const spoiled: Record<number, string> = {
		7: ',sub-7,,newsletter,1',
		20: 'order-20,"sub, ""20""",,newsletter,4.99',
		21: 'order-21,sub-21',
	};
	const path = fileOf(
		t,
		csvOf(50, (row) => spoiled[row]),
	);
	const stopped = await uploadFile(service, path);
	assert.equal(stopped.code, 1);
	assert.match(stopped.stderr, /events\.csv:9: tid is required\n/);
	assert.match(
		stopped.stderr,
		/events\.csv:22: rvn must be an integer, in whole pence or cents, for example 499 \(or give --pounds rvn, or --currency CODE\)\n/,
	);
	assert.match(stopped.stderr, /events\.csv:23: it has 2 cells, but the header has 5\n/);
	assert.match(stopped.stderr, /3 of 50 rows are invalid; nothing was sent\./);
	assert.deepEqual(await service.stored(), []);

	const skipped = await uploadFile(service, path, ['--on-bad', 'skip', '--json']);
	assert.equal(skipped.code, 1);
	assert.deepEqual([JSON.parse(skipped.stdout).stored, JSON.parse(skipped.stdout).rejected], [47, 3]);
	const rejected = readFileSync(`${path}.rejected.csv`, 'utf8');
	assert.equal(
		rejected,
		`tid,subid,cid,evt,rvn,line,problem
,sub-7,,newsletter,1,9,tid is required
order-20,"sub, ""20""",,newsletter,4.99,22,"rvn must be an integer, in whole pence or cents, for example 499 (or give --pounds rvn, or --currency CODE)"
order-21,sub-21,,,,23,"it has 2 cells, but the header has 5"
`,
	);
	const mended = rejected
		.replace('\n,sub-7', '\norder-7,sub-7')
		.replace(',4.99,', ',499,')
		.replace('order-21,sub-21,,,,23', 'order-21,sub-21,,newsletter,,23');
	const mendedPath = fileOf(t, mended, 'mended.csv');
	assert.equal((await uploadFile(service, mendedPath)).code, 0);
	assert.equal((await service.stored()).length, 50);
});

test('the upload stops when the quota is used up, and resumes when there is more', async (t) => {
	const service = await openAccount({ quotaPerMonth: 3 });
	const path = fileOf(t, csvOf(200));
	const stopped = await uploadFile(service, path);
	assert.equal(stopped.code, 2);
	assert.match(stopped.stdout, /more than the 3 requests left until /);
	assert.match(
		stopped.stderr,
		/Stopped: the monthly quota is used up until .*; run the same command again to continue\./,
	);
	assert.equal((await service.stored()).length, 90);
	assert.equal(lines(`${path}.report.csv`).length, 91);
	await service.store.control.updatePlan({ ...roomyPlan, name: service.planName, quotaPerMonth: 1000 });
	await service.directory.refresh();
	const { code, stdout } = await uploadFile(service, path);
	assert.equal(code, 0);
	assert.match(stdout, /200 rows: 90 done before, 110 to send in 4 requests\./);
	assert.match(stdout, /200 rows, 200 stored/);
	const usage = () => service.store.control.usageOf(service.keyId);
	await eventually('the usage is told', async () => (await usage())?.used === 7);
});

test('the progress of another file is not resumed; an incomplete last line is ignored', async (t) => {
	const service = await openAccount({ quotaPerMonth: 1 });
	const path = fileOf(t, csvOf(60));
	assert.equal((await uploadFile(service, path)).code, 2);
	await service.store.control.updatePlan({ ...roomyPlan, name: service.planName, quotaPerMonth: 1000 });
	await service.directory.refresh();
	const changed = fileOf(t, csvOf(61));
	const progress = readFileSync(`${path}.progress`, 'utf8');
	writeFileSync(`${changed}.progress`, progress);
	assertRefused(await uploadFile(service, changed, ['--json']), /belongs to another upload/);
	writeFileSync(`${path}.progress`, `${progress}{"runs":[[30,`);
	const { code, stdout } = await uploadFile(service, path);
	assert.equal(code, 0);
	assert.match(stdout, /30 done before, 30 to send in 1 request\.\n/);
	assert.match(stdout, /60 stored/);
});

test('impossible options are refused in one sentence', async (t) => {
	const service = await openAccount();
	const path = fileOf(t, csvOf(1));
	assertRefused(await caskadeWithin(uploadArgs(service, path)), /give --key-file, or set CASKADE_KEY/);
	assertRefused(await uploadFile(service, `${path}.nothing`), /There is no file .*nothing\./);
	assertRefused(await uploadFile(service, fileOf(t, 'tid,subid,evt\n')), /has no rows/);
	const keyFile = fileOf(t, 'unknown\n', 'key');
	const stranger = await uploadFile(service, path, ['--key-file', keyFile]);
	assert.doesNotMatch(stranger.stderr + stranger.stdout, new RegExp(service.key));
});
