import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { InputFile } from '../../../../src/capabilities/history/input-file.ts';
import { EventFile } from '../../../../src/capabilities/history/upload/event-file.ts';
import { uploadFile as sendRows } from '../../../../src/capabilities/history/upload/file-upload.ts';
import { RowOutcomes } from '../../../../src/capabilities/history/upload/row-outcomes.ts';
import { clientOf } from '../../../client/client.ts';
import { assertMisused, assertRefused, mainPath, TestProcess } from '../../../process.ts';
import { openAccount } from '../../../shared-server.ts';
import type { ServedAccount } from '../../../support.ts';
import { csvOf, fileOf, uploadArgs, uploadFile } from './files.ts';

/** What is stored, in the order of `tid`. */
async function stored(service: ServedAccount) {
	const events = await service.stored();
	return events
		.map(({ tid, subid, cid, evt, rvn }) => [tid, subid, cid, evt, rvn] as const)
		.sort(([a], [b]) => (a < b ? -1 : 1));
}

/** Uploads text that must be stored whole. @returns what the command prints */
async function uploadText(
	t: TestContext,
	service: ServedAccount,
	text: string | Buffer,
	flags: readonly string[] = [],
): Promise<string> {
	const path = fileOf(t, '');
	writeFileSync(path, text);
	const { code, stdout, stderr } = await uploadFile(service, path, flags);
	assert.equal(code, 0, stderr);
	return stdout;
}

test('semicolons, tabs and bars are recognised by the header, and told', async (t) => {
	for (const [separator, name] of [
		[';', 'semicolons'],
		['\t', 'tabs'],
		['|', 'bars'],
	] as const) {
		const service = await openAccount();
		const cells = (...values: string[]) => values.join(separator);
		const text = [
			cells('tid', 'subid', 'amount, GBP', 'evt', 'rvn'),
			cells('T-1', '"S,;1"', '1,2', 'newsletter', '-499'),
			cells('T-2', 'S,2', '', 'trial', ''),
		].join('\r\n');
		const stdout = await uploadText(t, service, text);
		assert.match(stdout, new RegExp(`^2 rows separated by ${name}: 2 to send in 1 request\\.\n`));
		assert.deepEqual(await stored(service), [
			['T-1', 'S,;1', null, 'newsletter', -499],
			['T-2', 'S,2', null, 'trial', 0],
		]);
	}
});

test('any other separator is named, and so is the column of a field', async (t) => {
	const service = await openAccount();
	const text = 'Event^OrderID^Customer^tid^Total\nnewsletter^O-1^C-1^ignored^£1,234.50\ntrial^O-2^^^0\n';
	const map = ['tid=OrderID', 'subid=OrderID', 'evt=Event', 'cid=Customer', 'rvn=Total'];
	const flags = [...map.flatMap((one) => ['--map', one]), '--pounds', 'rvn', '--separator', '^'];
	await uploadText(t, service, text, flags);
	assert.deepEqual(await stored(service), [
		['O-1', 'O-1', 'C-1', 'newsletter', 123_450],
		['O-2', 'O-2', null, 'trial', 0],
	]);
});

test('fields of JSON are mapped and converted, too', async (t) => {
	const service = await openAccount();
	const lines = [
		{ id: 'J-1', subid: 'S', evt: 'e', rvn: 4.99, name: 'secret' },
		{ id: 'J-2', subid: 'S', evt: 'e', rvn: '£5', tid: 'other' },
		{ id: 'J-3', subid: 'S', evt: 'e', rvn: null },
	];
	const text = lines.map((line) => JSON.stringify(line)).join('\n');
	await uploadText(t, service, text, ['--map', 'tid=id', '--pounds', 'rvn']);
	assert.deepEqual(await stored(service), [
		['J-1', 'S', null, 'e', 499],
		['J-2', 'S', null, 'e', 500],
		['J-3', 'S', null, 'e', 0],
	]);
});

test('nothing but the fields of an event is sent', async (t) => {
	const service = await openAccount();
	const bodies: string[] = [];
	const caskade = clientOf(service, {
		fetch(input, init) {
			bodies.push(String(init?.body));
			return fetch(input, init);
		},
	});
	using input = InputFile.open(fileOf(t, 'tid,subid,evt,name,rvn\nT-1,S-1,e,Ann Smith,5\n'));
	await sendRows({
		caskade,
		aid: service.aid,
		simulate: false,
		batchSize: 30,
		progress: null,
		call: {},
		onBatch() {},
		file: new EventFile(input, { map: {} }),
		outcomes: new RowOutcomes(1),
		stop: new AbortController().signal,
	});
	assert.deepEqual(
		bodies.map((body) => JSON.parse(body).data),
		[[{ tid: 'T-1', subid: 'S-1', evt: 'e', rvn: 5 }]],
	);
});

test('pounds are not guessed: without the flag they are refused, with it what is no amount', async (t) => {
	const service = await openAccount();
	const path = fileOf(t, 'tid,subid,evt,rvn\nT-1,S,e,4.99\nT-2,S,e,£5\nT-3,S,e,499\n');
	const pence = await uploadFile(service, path);
	assert.equal(pence.code, 1);
	const hint =
		'rvn must be an integer, in whole pence or cents, for example 499 (or give --pounds rvn, or --currency CODE)';
	assert.ok(pence.stderr.includes(`:2: ${hint}\n`) && pence.stderr.includes(`:3: ${hint}\n`), pence.stderr);
	const wrong = fileOf(t, 'tid,subid,evt,rvn\nT-1,S,e,"4,995"\nT-2,S,e,"4,99"\n');
	const pounds = await uploadFile(service, wrong, ['--pounds', 'rvn']);
	assert.equal(pounds.code, 1);
	assert.match(pounds.stderr, /:2: rvn must be an amount of GBP with at most 2 decimals, for example 4,99\n/);
	assert.deepEqual(await stored(service), []);
});

test('gzip is recognised by its content, whatever its name', async (t) => {
	const service = await openAccount();
	await uploadText(t, service, gzipSync(csvOf(2000)));
	assert.equal((await service.stored()).length, 2000);
	const whole = gzipSync(csvOf(1000));
	const path = fileOf(t, '');
	writeFileSync(path, whole.subarray(0, whole.length - 20));
	assertRefused(
		await uploadFile(service, path),
		/events\.csv cannot be uncompressed: unexpected end of file\./,
	);
});

test('standard input is uploaded from a copy; it cannot be continued, and says so', async (t) => {
	const service = await openAccount({ quotaPerMonth: 1 });
	const folder = dirname(fileOf(t, ''));
	const pipe = async (input: string | Buffer, flags: readonly string[] = []) => {
		const command = [process.execPath, mainPath, ...uploadArgs(service, '-', flags)];
		await using process_ = new TestProcess('sh', ['-c', 'cd "$0" && exec "$@"', folder, ...command], {
			CASKADE_KEY: service.key,
		});
		process_.child.stdin?.end(input);
		return await process_.ended;
	};
	const stopped = await pipe(gzipSync(csvOf(40)));
	assert.equal(stopped.code, 2, stopped.stderr);
	assert.match(
		stopped.stderr,
		/10 rows are left; what was piped in cannot be continued: pipe it in again, nothing is stored twice\./,
	);
	assert.equal((await service.stored()).length, 30);
	assert.ok(!existsSync(join(folder, 'stdin.progress')) && !existsSync(join(folder, '-.progress')));
	assert.match(
		readFileSync(join(folder, 'stdin.report.csv'), 'utf8'),
		/^line,tid,outcome,[\s\S]+\n31,order-29,stored/,
	);

	const bad = await pipe(csvOf(3, (row) => (row === 1 ? 'order-1,sub-1' : undefined)));
	assert.equal(bad.code, 1);
	assert.match(bad.stderr, /^stdin:3: it has 2 cells, but the header has 5\n/);
	const rejected = readFileSync(join(folder, 'stdin.rejected.csv'), 'utf8');
	assert.match(rejected, /\norder-1,sub-1,,,,3,"it has 2 cells, but the header has 5"\n$/);
	assertRefused(await pipe(''), /standard input has no rows/);
});

test('what is no file of rows is refused in one sentence that says what it is', async (t) => {
	const service = await openAccount();
	const refused = async (content: string | Buffer, sentence: RegExp) => {
		const path = fileOf(t, '');
		writeFileSync(path, content);
		assertRefused(await uploadFile(service, path), sentence);
		assert.ok(!existsSync(`${path}.rejected.csv`) && !existsSync(`${path}.report.csv`));
	};
	const array = JSON.stringify([{ tid: 'T' }]);
	await refused(
		array,
		/events\.csv is a JSON array\. Write one JSON object per line, as jq -c '\.\[\]' \S+ does\./,
	);
	await refused(JSON.stringify([{ tid: 'T' }], null, 2), /is a JSON array/);
	await refused(JSON.stringify({ tid: 'T' }, null, 2), /has JSON over several lines/);
	await refused(
		'PK\x03\x04\x14\0\x06\0',
		/is a ZIP archive or a workbook of a spreadsheet\. Save it as CSV\./,
	);
	await refused(Buffer.from('\ufefftid,subid,evt\n', 'utf16le'), /is UTF-16\. Save it as UTF-8\./);
	await refused(Buffer.from('tid,größe\n', 'latin1'), /is not UTF-8\. Save it as CSV in UTF-8\./);
	await refused('', /has no rows/);
	const folder = dirname(fileOf(t, ''));
	assertRefused(await uploadFile(service, folder), /caskade-test-\w+ is a folder\./);
	assertRefused(
		await uploadFile(service, '/dev/null'),
		/\/dev\/null is not a regular file: pipe it into standard/,
	);
});

test('a missing column is one line, however many rows there are', async (t) => {
	const service = await openAccount();
	const rows = 'a;b;c\n'.repeat(1000);
	const other = fileOf(t, `TID,SubID,Event\n${rows.replaceAll(';', ',')}`);
	assertRefused(
		await uploadFile(service, other),
		/events\.csv has no column tid, subid and evt; its header reads "TID,SubID,Event"\. Say which column it is with --map tid=TID --map subid=SubID --map evt=COLUMN, or what separates the columns with --separator\./,
	);
	const unknown = fileOf(t, `tid^subid^evt\n${rows}`);
	assertRefused(await uploadFile(service, unknown), /its header reads "tid\^subid\^evt"/);
	assertRefused(
		await uploadFile(service, fileOf(t, csvOf(2)), ['--map', 'rvn=Total']),
		/has no column Total; its header reads "tid,subid,cid,evt,rvn"/,
	);
	const long = fileOf(t, `${'x'.repeat(5000)}\n`);
	const { stderr } = await uploadFile(service, long);
	assert.ok(stderr.length < 700, stderr);
});

test('rejected rows keep their cells, in the format of the file, and can be mended and sent', async (t) => {
	const service = await openAccount();
	const text = [
		'OrderID;subid;evt;Note;Total',
		'O-1;S-1;e;;1',
		'O-2;S-2',
		'O-3;S-3;e;one;3;four',
		'O-4;S-4;;"a;""b""";"4,5"',
		'O-5;S-5;"e;;5',
		'',
	].join('\n');
	const path = fileOf(t, text);
	writeFileSync(path, Buffer.concat([Buffer.from(text), Buffer.from('O-6;S-6;caf\xe9;;6\n', 'latin1')]));
	const flags = ['--map', 'tid=OrderID', '--map', 'rvn=Total'];
	const { code, stderr } = await uploadFile(service, path, flags);
	assert.equal(code, 1);
	assert.match(
		stderr,
		/5 of 6 rows are invalid; nothing was sent\. .*rejected\.csv has the rejected rows\.\n$/,
	);
	const rejected = readFileSync(`${path}.rejected.csv`, 'utf8');
	assert.equal(
		rejected,
		[
			'OrderID;subid;evt;Note;Total;line;problem',
			'O-2;S-2;;;;3;it has 2 cells, but the header has 5',
			'O-3;S-3;e;one;3;4;it has 6 cells, but the header has 5: a cell with a semicolon in it needs quotes;four',
			'O-4;S-4;;"a;""b""";4,5;5;"evt is required; rvn must be an integer, in whole pence or cents, for example 499 (or give --pounds rvn, or --currency CODE)"',
			'O-6;S-6;café;;6;7;the line must be UTF-8',
			'O-5;S-5;"""e";;5;6;its quotes are not valid CSV',
			'',
		].join('\n'),
	);
	// It is rejected again as it is; what it says about the rows is replaced.
	const again = fileOf(t, rejected);
	assert.equal((await uploadFile(service, again, flags)).code, 1);
	const headers = readFileSync(`${again}.rejected.csv`, 'utf8').split('\n', 2);
	assert.deepEqual(headers, ['OrderID;subid;evt;Note;Total;line;problem', 'O-2;S-2;;;;2;evt is required']);
	const mended = rejected
		.replace('O-2;S-2;;', 'O-2;S-2;e;')
		.replace(';four', '')
		.replace('O-4;S-4;;', 'O-4;S-4;e;')
		.replace('4,5', '45')
		.replace('"""e"', 'e');
	assert.equal((await uploadFile(service, fileOf(t, mended), flags)).code, 0);
	assert.deepEqual(
		(await stored(service)).map(([tid, , , evt, rvn]) => [tid, evt, rvn]),
		[
			['O-2', 'e', 0],
			['O-3', 'e', 3],
			['O-4', 'e', 45],
			['O-5', 'e', 5],
			['O-6', 'café', 6],
		],
	);
});

test('rejected lines of JSON keep their fields, or their text', async (t) => {
	const service = await openAccount();
	const path = fileOf(
		t,
		'{"id":"J-1","subid":"S","rvn":"5","x":1}\n{"id":"J-2","sub\n[1]\n',
		'events.ndjson',
	);
	assert.equal((await uploadFile(service, path, ['--map', 'tid=id'])).code, 1);
	const [header, ...rows] = readFileSync(`${path}.rejected.csv`, 'utf8').trimEnd().split('\n');
	assert.equal(header, 'id,subid,cid,evt,rvn,at,text,line,problem');
	assert.match(rows[0] as string, /^J-1,S,,,5,,,1,"evt is required; rvn must be an integer/);
	assert.equal(rows[1], ',,,,,,"{""id"":""J-2"",""sub",2,the line must be JSON');
	assert.equal(rows[2], ',,,,,,[1],3,it must be an object');
});

test('wrong flags are refused', async (t) => {
	const service = await openAccount();
	const path = fileOf(t, csvOf(1));
	const misused = async (flags: readonly string[], error: RegExp) =>
		assertMisused(await uploadFile(service, path, flags), error);
	await misused(['--separator', ';;'], /It must be one character, for example ; or \|, or tab\./);
	await misused(['--separator', 'a'], /It must be one character/);
	await misused(['--map', 'id=OrderID'], /FIELD is one of tid, subid, cid, evt, rvn, at\./);
	await misused(['--map', 'tid'], /It must be FIELD=COLUMN/);
	await misused(['--pounds', 'cid'], /Allowed choices are rvn\./);
	await misused(['--conflicts', 'maybe'], /Allowed choices are fail, ok\./);
	await misused(['--retry-for', 'soon'], /It must be a duration such as 90s/);
	const tabs = fileOf(t, 'tid\tsubid\tevt\nT\tS\te\n');
	assert.equal((await uploadFile(service, tabs, ['--separator', 'tab'])).code, 0);
	assertRefused(
		await uploadFile({ ...service, url: 'nonsense' }, path),
		/--url must be the address of a server/,
	);
});
