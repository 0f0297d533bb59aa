import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
	existsSync,
	lstatSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	rmSync,
	symlinkSync,
	writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { ProgressFile } from '../../../../src/capabilities/history/upload/progress-file.ts';
import type { BatchRecord } from '../../../../src/capabilities/history/upload/row-outcomes.ts';
import { eventually } from '../../../eventually.ts';
import { assertRefused } from '../../../process.ts';
import { openAccount } from '../../../shared-server.ts';
import { roomyPlan } from '../../../support.ts';
import { csvOf, fileOf, uploadFile } from './files.ts';

const endings = ['.progress', '.report.csv', '.rejected.csv'] as const;
/** The beginning of what an upload writes, and what follows it in a file of somebody else. */
const foreign = [
	'',
	'\n',
	'{',
	'line,tid,outcome\n',
	'tid,subid,cid,evt,rvn\nT,S,,e,1\n',
	'{"sha256":"a"}\n',
];

test('a file that an upload did not write stays, and it is said what lies there', async (t) => {
	const service = await openAccount();
	for (const ending of endings)
		for (const content of foreign) {
			const path = fileOf(t, csvOf(3));
			writeFileSync(path + ending, content);
			assertRefused(
				await uploadFile(service, path),
				new RegExp(
					`events\\.csv\\${ending} is a file that 'caskade upload' did not write\\. It stays as it is: move it`,
				),
			);
			assert.equal(readFileSync(path + ending, 'utf8'), content);
			assert.deepEqual(readdirSync(dirname(path)).sort(), ['events.csv', `events.csv${ending}`]);
		}
	assert.deepEqual(await service.stored(), []);
});

test('nothing is written through a link, even to what an upload wrote', async (t) => {
	const service = await openAccount();
	for (const ending of endings) {
		const path = fileOf(
			t,
			csvOf(3, (row) => (ending === '.rejected.csv' && row === 1 ? 'x' : undefined)),
		);
		const target = join(dirname(path), 'precious');
		const contents = [
			'precious',
			'line,tid,outcome,reason,requestId\n',
			'tid,line,problem\n',
			'{"file":"progress of caskade upload"}\n',
		];
		for (const content of contents) {
			writeFileSync(target, content);
			if (!existsSync(path + ending)) symlinkSync(target, path + ending);
			const ended = await uploadFile(service, path, ['--on-bad', 'skip']);
			assertRefused(ended, new RegExp(`events\\.csv\\${ending} is a symbolic link\\. It stays as it is`));
			assert.equal(readFileSync(target, 'utf8'), content);
			assert.ok(lstatSync(path + ending).isSymbolicLink());
		}
		const nowhere = fileOf(t, csvOf(3));
		symlinkSync(join(dirname(nowhere), 'nothing'), nowhere + ending);
		assertRefused(await uploadFile(service, nowhere), /is a symbolic link/);
		assert.ok(!existsSync(join(dirname(nowhere), 'nothing')));
	}
	assert.deepEqual(await service.stored(), []);
});

test('folders and pipes stay, and nothing waits for them', async (t) => {
	const service = await openAccount();
	for (const ending of endings) {
		const path = fileOf(t, csvOf(3));
		mkdirSync(path + ending);
		assertRefused(await uploadFile(service, path), /is a folder\. It stays as it is/);
		const other = fileOf(t, csvOf(3));
		execFileSync('mkfifo', [other + ending]);
		assertRefused(await uploadFile(service, other), /is a pipe or a device\. It stays as it is/);
		assert.ok(lstatSync(other + ending).isFIFO());
	}
	assert.deepEqual(await service.stored(), []);
});

test('what appears during the upload is not replaced, either, and nothing is sent again', async (t) => {
	const service = await openAccount({ ratePerSecond: 10, burst: 1 });
	const path = fileOf(t, csvOf(120));
	const uploading = uploadFile(service, path, ['--json']);
	await eventually('rows are acknowledged', () => existsSync(`${path}.progress`));
	writeFileSync(`${path}.report.csv`, 'precious');
	assertRefused(await uploading, /events\.csv\.report\.csv is a file that 'caskade upload' did not write/);
	assert.equal(readFileSync(`${path}.report.csv`, 'utf8'), 'precious');
	rmSync(`${path}.report.csv`);
	const { code, stdout } = await uploadFile(service, path);
	assert.equal(code, 0);
	assert.match(stdout, /^120 rows: 120 done before, 0 to send in 0 requests\.\n/);
	assert.doesNotMatch(stdout, /Plan /, 'nothing takes time or quota');
	assert.deepEqual(readdirSync(dirname(path)).sort(), ['events.csv', 'events.csv.report.csv']);
});

test('two runs of one upload share its progress', (t) => {
	const path = `${fileOf(t, '')}.progress`;
	const identity = {
		sha256: 'a',
		url: 'u',
		aid: 'a',
		simulate: false,
		format: { map: {} },
	};
	const batch = (row: number): BatchRecord => ({
		requestId: 'r',
		runs: [[row, row]],
		duplicates: [],
		conflicts: [],
		rejected: [],
		isRepeated: false,
	});
	using first = ProgressFile.open(path, identity, () => assert.fail());
	using second = ProgressFile.open(path, identity, () => assert.fail());
	assert.ok(!existsSync(path));
	for (const row of [0, 1]) {
		first.add(batch(row));
		second.add(batch(row + 10));
	}
	const rows: number[] = [];
	using _third = ProgressFile.open(path, identity, ({ runs }) => rows.push(...runs.map(([row]) => row)));
	assert.deepEqual(rows, [0, 10, 1, 11]);
	assert.throws(
		() => ProgressFile.open(path, { ...identity, aid: 'b' }, () => {}),
		/belongs to another upload/,
	);
});

test('a later upload replaces the files of an earlier one, and leaves nothing else behind', async (t) => {
	const service = await openAccount();
	const path = fileOf(
		t,
		csvOf(3, (row) => (row === 1 ? 'x' : undefined)),
	);
	for (const _ of [1, 2]) assert.equal((await uploadFile(service, path, ['--on-bad', 'skip'])).code, 1);
	assert.match(readFileSync(`${path}.report.csv`, 'utf8'), /^2,order-0,duplicate/m);
	assert.deepEqual(readdirSync(dirname(path)).sort(), [
		...['events.csv', 'events.csv.rejected.csv', 'events.csv.report.csv'],
	]);
});

test('a report stays where a later upload sends nothing', async (t) => {
	const service = await openAccount();
	const path = fileOf(t, csvOf(40));
	assert.equal((await uploadFile(service, path)).code, 0);
	const report = readFileSync(`${path}.report.csv`, 'utf8');
	const keyFile = fileOf(t, 'unknown', 'key');
	const refused: readonly (readonly string[])[] = [
		['--key-file', keyFile],
		['--aid', 'c-a-nobody'],
		['--url', `${service.url}/docs`],
		['--retry-for', '1s', '--url', 'http://127.0.0.1:1'],
	];
	for (const flags of refused) {
		const { code, stdout } = await uploadFile(service, path, flags);
		assert.notEqual(code, 0);
		assert.doesNotMatch(stdout, /report\.csv/);
		assert.equal(readFileSync(`${path}.report.csv`, 'utf8'), report);
	}
	writeFileSync(
		path,
		csvOf(40, (row) => (row === 1 ? 'x' : undefined)),
	);
	assert.equal((await uploadFile(service, path)).code, 1);
	assert.equal(readFileSync(`${path}.report.csv`, 'utf8'), report);
});

test('the progress of another upload is kept, but not one without an acknowledged row', async (t) => {
	const service = await openAccount({ quotaPerMonth: 1 });
	const path = fileOf(t, csvOf(60));
	assert.equal((await uploadFile(service, path)).code, 2);
	const progress = readFileSync(`${path}.progress`, 'utf8');
	const other = await openAccount();
	assertRefused(await uploadFile(other, path, ['--json']), /events\.csv\.progress belongs to another upload/);
	assertRefused(await uploadFile(service, path, ['--pounds', 'rvn']), /belongs to another upload/);
	assert.equal(readFileSync(`${path}.progress`, 'utf8'), progress);
	const [header] = progress.split('\n');
	for (const left of [`${header}\n`, `${header}`, `${header?.slice(0, 60)}`, `${header}\n{"runs":[[0,29]`]) {
		writeFileSync(`${path}.progress`, left);
		const { code, stdout } = await uploadFile(other, path, ['--simulate']);
		assert.equal(code, 0);
		assert.match(stdout, /^60 rows: 60 to send/);
		assert.ok(!existsSync(`${path}.progress`));
	}
	writeFileSync(`${path}.progress`, progress);
	await service.store.control.updatePlan({ ...roomyPlan, name: service.planName });
	await service.directory.refresh();
	assert.match((await uploadFile(service, path)).stdout, /30 done before/);
});
