import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { caskadeJson, caskadeWithin, type Ended } from '../../../process.ts';
import { openAccount } from '../../../shared-server.ts';
import { type ServedAccount, temporaryFolder } from '../../../support.ts';
import { fileOf, uploadFile } from './files.ts';

async function stored(service: ServedAccount) {
	return (await service.stored()).map(({ tid, subid, cid, rvn }) => [tid, subid, cid, rvn]);
}

/** Uploads a file of which nothing may be sent. @returns what it says */
async function refused(
	t: TestContext,
	content: string | Buffer,
	flags: readonly string[] = [],
): Promise<string> {
	const service = await openAccount();
	const path = fileOf(t, '');
	writeFileSync(path, content);
	const { code, stderr } = await uploadFile(service, path, flags);
	assert.equal(code, 1, stderr);
	assert.deepEqual(await stored(service), []);
	return stderr.replaceAll(path, 'events.csv');
}

/** Uploads a file that must be stored whole. */
async function taken(t: TestContext, content: string, flags: readonly string[] = []) {
	const service = await openAccount();
	const { code, stderr } = await uploadFile(service, fileOf(t, content), flags);
	assert.equal(code, 0, stderr);
	return stored(service);
}

/** Ids that spreadsheets and exports have made of others, and what is said of them. */
const changed: readonly (readonly [id: string, what: RegExp])[] = [
	['1.91433E+17', /rounded, such as 1\.23E\+15/],
	['"1,91433E+17"', /rounded/],
	['4.892E+092', /rounded/],
	['1.91433e+17', /rounded/],
	['1.91433E17', /rounded/],
	['5E+10', /rounded/],
	['#REF!', /an error of a spreadsheet, such as #N\/A/],
	['#N/A', /an error/],
	['#NV', /an error/],
	['#DIV/0!', /an error/],
	['#¿NOMBRE?', /an error/],
	['########', /an error/],
	['Err:502', /an error/],
	['01-Mar', /a date .* such as 01-Mar/],
	['Mar-26', /a date/],
	['01. Mrz', /a date/],
	['Mrz 26', /a date/],
	['01-févr', /a date/],
	['mrt-26', /a date/],
	['1-Mar-2026', /a date/],
	['03/01/2026', /a date/],
	['03.01.2026 00:00', /a date/],
	['"1,234,567"', /separators of thousands/],
	['12345.0', /a whole number with a decimal/],
	["'00123", /a text as spreadsheets mark it/],
	['"=""00123"""', /a text as spreadsheets mark it/],
	['T-1 ', /a space at its beginning or end/],
	[' T-1', /a space/],
	['T-1\u200b', /a space .*, maybe one that does not show/],
];
const untouched = [
	'T-1',
	'73928e03',
	'4e87',
	'MAR-26',
	'2026-03-01',
	'#1234',
	'1.2.3',
	'10.50',
	"O'Hara",
	'#a',
	'0',
];

test('an id that a spreadsheet has changed is told by line and field before anything is sent', async (t) => {
	const lines = changed.flatMap(([id]) => [`${id},S,C,e`, `T,${id},C,e`, `T,S,${id},e`]);
	const said = await refused(t, ['tid,subid,cid,evt', ...lines, 'T,S,C,#N/A', ''].join('\n'), [
		'--on-bad',
		'stop',
	]);
	assert.match(said, /88 of 88 rows are invalid; nothing was sent/);
	for (const [index, [id, what]] of changed.entries()) {
		const [line] = (await refused(t, `tid,subid,cid,evt\nT,S,C,e\nT,${id},C,e\n`)).split('\n');
		assert.match(line ?? '', /^events\.csv:3: subid is .* \(or give --ids-as-written\)$/, id);
		assert.match(line ?? '', what, `${index} ${id}`);
		assert.ok(id.length < 7 || !line?.includes(id), 'ids are not shown');
	}
	assert.match(await refused(t, 'tid,subid,cid,evt\nT,S,C,#N/A\n'), /:2: evt is an error of a spreadsheet/);
});

test('ids that only look odd are taken, and all are with a flag', async (t) => {
	const rows = untouched.map((id, index) => `T${index},${id},${id},e`);
	const kept = await taken(t, ['tid,subid,cid,evt', ...rows, ''].join('\n'));
	assert.deepEqual(kept.map(([, subid]) => subid).sort(), [...untouched].sort());
	const text = 'tid,subid,evt\n1.91433E+17,01-Mar,e\n000123,#N/A,e\n45,1.0,e\n';
	assert.equal((await taken(t, text, ['--ids-as-written'])).length, 3);
});

test('nothing is a duplicate because its id was damaged', async (t) => {
	const said = await refused(
		t,
		'tid,subid,evt,rvn\n1.91433E+17,1.91433E+17,e,499\n1.91433E+17,1.91433E+17,e,499\n',
	);
	assert.match(said, /:2: tid is a number that a spreadsheet has rounded.*\n.*:3: tid is/);
	assert.doesNotMatch(said, /duplicate/);
	const json = '{"tid":"1.91433E+17","subid":"S","evt":"e"}\n';
	assert.match(await refused(t, json), /:1: tid is a number that a spreadsheet has rounded/);
});

test('zeros that were lost are told where lengths tell', async (t) => {
	const rows = (...ids: string[]) => ['tid,subid,evt', ...ids.map((id) => `${id},${id},e`), ''].join('\n');
	assert.match(
		await refused(t, rows('1234567', '0001234', '98765', 'T-1')),
		/events\.csv:4: tid has 5 digits, where others have 7 with zeros in front \(line 3\).*--ids-as-written/,
	);
	for (const ids of [
		['98765', '1234567', '1'],
		['007', '98765', '1'],
		['0001234', '1234567', '0098765'],
		['00012', '0001234', '98765'],
	])
		assert.equal((await taken(t, rows(...ids))).length, ids.length, ids.join());
});

test('digits that a spreadsheet does not keep are missed, where all of a column end in zeros', async (t) => {
	const rows = (...ids: string[]) => ['tid,subid,evt', ...ids.map((id) => `T-${id},${id},e`), ''].join('\n');
	assert.match(
		await refused(t, rows('12', '191433000000017000', '191433000000018000')),
		/events\.csv:3: subid has only zeros after 15 digits, as all of its length in this column: a spreadsheet has rounded them\. Export the column as text\./,
	);
	for (const ids of [
		// A number in ten ends in a zero by chance.
		['1914330000000170'],
		['191433000000017000', '191433000000017001'],
		// Times in nanoseconds, of a clock that counts milliseconds.
		['1764184000123000000', '1764184000124000000'],
	])
		assert.equal((await taken(t, rows(...ids))).length, ids.length, ids.join());
});

test('two columns of one name are refused where they are read', async (t) => {
	const map = ['tid', 'subid', 'evt'].flatMap((field) => ['--map', `${field}=order`]);
	const said = await refused(t, 'order,Total,Total\nm-1,4.99,0.83\n', [
		...map,
		'--map',
		'rvn=Total',
		'--pounds',
		'rvn',
	]);
	assert.match(said, /events\.csv has several columns Total; its header reads "order,Total,Total"\./);
	assert.match(await refused(t, 'tid,tid,subid,evt\na,b,s,e\n'), /several columns tid;/);
	assert.match(await refused(t, 'tid,subid,evt, evt\na,b,s,e\n'), /several columns evt;/);
	assert.equal((await taken(t, 'tid,subid,evt,note,note,,\nT,S,e,a,b,,\n')).length, 1);
	const json = (more: string) => `{"tid":"T","subid":"S","evt":"e","rvn":499${more}}\n`;
	assert.match(await refused(t, json(',"rvn":4.99')), /events\.csv:1: it has several members rvn/);
	assert.equal((await taken(t, json(',"note":{"tid":"x"}'))).length, 1);
});

test("the line with which Excel's files name their separator is read", async (t) => {
	assert.equal((await taken(t, 'sep=;\r\ntid;subid;evt\r\nT;S;e\r\n')).length, 1);
	assert.equal((await taken(t, '\ufeff"sep=|"\ntid|subid|evt\nT|S|e\n')).length, 1);
	assert.equal((await taken(t, 'SEP=\t\ntid\tsubid\tevt\nT\tS\te\n')).length, 1);
	assert.match(await refused(t, 'sep=|\ntid|subid|evt\nT|S|\n'), /^events\.csv:3: evt is required/);
	assert.match(await refused(t, 'sep=;\n'), /has no rows/);
});

test('UTF-16 is recognised without a byte order mark, also when compressed', async (t) => {
	const bytes = Buffer.from('tid,subid,evt\nT,S,e\n', 'utf16le');
	assert.match(await refused(t, bytes), /events\.csv is UTF-16, or no text\. Save it as CSV in UTF-8\./);
	assert.match(await refused(t, Buffer.from(bytes).swap16()), /is UTF-16, or no text/);
	assert.match(await refused(t, gzipSync(bytes)), /is UTF-16, or no text/);
	assert.match(await refused(t, Buffer.from('{"tid":"T"}\n', 'utf16le')), /is UTF-16, or no text/);
});

test('a separator in a cell without quotes is told by line, and by column where the cells show it', async (t) => {
	const header = 'tid,subid,evt,name,rvn,note';
	const cases = [
		['T,S,e,Smith, Ann,499,x', /:2: it has 7 cells, but the header has 6: .*, as column name seems to be/],
		['T,S,e,Ann,4,99,x', /a cell with a comma in it needs quotes, as column rvn seems to be/],
		['T,S,e,Ann,1,234.50,x', /a cell with a comma in it needs quotes/],
		['T,S,e,Ann,499,x,y', /a cell with a comma in it needs quotes\n/],
	] as const;
	for (const [row, said] of cases) assert.match(await refused(t, `${header}\n${row}\n`), said, row);
});

test('amounts are read in the notation of their column, and told how', async (t) => {
	const service = await openAccount();
	await service.store.control.updateAccount(service.aid, { currency: 'EUR' });
	await service.directory.refresh();
	const text = 'tid;subid;evt;rvn\na;S;e;4,99 €\nb;S;e;1.234,50\nc;S;e;-1.000\nd;S;e;(0,5)\n';
	const { code, stdout, stderr } = await uploadFile(service, fileOf(t, text), ['--currency', 'EUR']);
	assert.equal(code, 0, stderr);
	assert.match(stdout, /^4 rows separated by semicolons, amounts in EUR with a decimal comma: 4 to send/);
	assert.deepEqual((await stored(service)).map(([tid, , , rvn]) => [tid, rvn]).sort(), [
		['a', 499],
		['b', 123_450],
		['c', -100_000],
		['d', -50],
	]);
});

test('amounts of which nothing tells what they are are not sent, until a flag does', async (t) => {
	const rows = (...amounts: string[]) =>
		['tid,subid,evt,rvn', ...amounts.map((amount, index) => `${index},S,e,"${amount}"`), ''].join('\n');
	const flags = ['--pounds', 'rvn'];
	assert.match(
		await refused(t, rows('5', '1.000'), flags),
		/^caskade: events\.csv:3: rvn may have thousands or three decimals/,
	);
	assert.match(
		await refused(t, rows('4.99', '4,99'), flags),
		/rvn has a decimal point in line 2, and a decimal comma in line 3\./,
	);
	const comma = await taken(t, rows('1.000'), [...flags, '--decimal', 'comma']);
	const point = await taken(t, rows('1.000'), [...flags, '--decimal', 'point']);
	assert.deepEqual(
		[comma, point].map(([event]) => event?.[3]),
		[100_000, 100],
	);
	assert.match(
		await refused(t, rows('4.99', '4,99', '$5', '€5'), [...flags, '--decimal', 'point']),
		/:3: rvn must be an amount of GBP .*\n.*:4: rvn must be .*\n.*:5: rvn must be /,
	);
});

test("amounts are in the account's currency, or nothing is sent", async (t) => {
	const service = await openAccount();
	await service.store.control.updateAccount(service.aid, { currency: 'JPY' });
	await service.directory.refresh();
	const path = fileOf(t, 'tid,subid,evt,rvn\nT,S,e,980\n');
	const upload = (...flags: string[]): Promise<Ended> => uploadFile(service, path, flags);
	const pounds = await upload('--pounds', 'rvn');
	assert.equal(pounds.code, 1);
	assert.match(
		pounds.stderr,
		/^caskade: \S+ is in JPY, but rvn is said to be in GBP\. Nothing was sent\. Give --currency JPY if the amounts are in JPY\.\n$/,
	);
	assert.deepEqual(await stored(service), []);
	assert.equal((await upload('--currency', 'JPY')).code, 0);
	assert.deepEqual(
		(await stored(service)).map(([, , , rvn]) => rvn),
		[980],
	);
	assert.match(
		(await upload('--currency', 'JPY', '--pounds', 'rvn')).stderr,
		/--pounds says that rvn is in pounds, and/,
	);
	assert.match((await upload('--decimal', 'comma')).stderr, /--decimal needs --currency/);
	for (const wrong of ['YEN', 'eur'])
		assert.match((await upload('--currency', wrong)).stderr, /must be the code of a currency in capitals/);
});

test('a file that names a currency is not taken for another', async (t) => {
	const flags = ['--pounds', 'rvn'];
	const csv = (heading: string, ...rows: string[]) =>
		[`tid,subid,evt,rvn,${heading}`, ...rows, ''].join('\n');
	for (const heading of ['Currency', 'currency_code', 'Ccy'])
		assert.match(
			await refused(t, csv(heading, 'a,S,e,4.99,gbp', 'b,S,e,4.99,USD'), flags),
			new RegExp(`:3: ${heading} is USD, but the amounts are in GBP\n`),
		);
	assert.match(
		await refused(t, csv('currency', 'a,S,e,499,EUR', 'b,S,e,499,USD')),
		/:3: currency is USD, but .* in EUR/,
	);
	assert.match(
		await refused(t, csv('currency', 'a,S,e,499,EUR')),
		/ is in GBP, but the file says that rvn is in EUR\./,
	);
	const json = '{"tid":"a","subid":"S","evt":"e","rvn":499,"currency":"usd"}\n';
	assert.match(await refused(t, json), / is in GBP, but the file says that rvn is in USD\./);
	assert.equal((await taken(t, csv('currency', 'a,S,e,499,gbp', 'b,S,e,499,', 'c,S,e,499,none'))).length, 3);
});

test('a heading that names a currency, or minor units, is believed', async (t) => {
	const csv = (heading: string) => `tid,subid,evt,${heading}\nT,S,e,5\n`;
	const map = (heading: string) => ['--map', `rvn=${heading}`];
	const pounds = ['--pounds', 'rvn'];
	for (const heading of ['Total (USD)', 'total_USD', 'Net USD', 'USD']) {
		assert.match(
			await refused(t, csv(heading), [...map(heading), ...pounds]),
			/seems to be in USD, but rvn is said to be in GBP/,
		);
		assert.match(
			await refused(t, csv(heading), map(heading)),
			/is in GBP, but the file says that rvn is in USD/,
		);
	}
	for (const heading of ['amount_cents', 'Total (pence)', 'Pence'])
		assert.match(await refused(t, csv(heading), [...map(heading), ...pounds]), /seems to be in minor units/);
	for (const heading of ['Total (GBP)', 'Total GBP', 'Total (VAT)', 'Percentage'])
		assert.equal((await taken(t, csv(heading), [...map(heading), ...pounds])).length, 1, heading);
});

test('lines that end with a carriage return alone are told', async (t) => {
	assert.match(
		await refused(t, 'tid,subid,evt\rT,S,e\r'),
		/has lines that end with a carriage return alone\. Write line feeds, as tr '\\r' '\\n' does\./,
	);
});

test('an import tells the same, before anything is stored', async (t) => {
	const at = ['--database', `sqlite:${temporaryFolder(t)}`];
	await caskadeJson(['account', 'create', 'c-a-x', '--client', 'x', ...at]);
	const run = (text: string, ...flags: string[]) =>
		caskadeWithin(['import', 'c-a-x', fileOf(t, text), ...flags, ...at]);
	const tids = async () => {
		const { stdout } = await caskadeWithin(['events', 'c-a-x', '--csv', ...at]);
		return stdout
			.trim()
			.split('\n')
			.slice(1)
			.map((line) => line.split(',')[0]);
	};
	const header = 'type,at,tid,subid,evt';
	const row = (tid: string) => `subscription,2026-01-02T03:04:05Z,${tid},S,e`;
	for (const [id, what] of changed)
		assert.match((await run(`${header}\n${row('T')}\n${row(id)}\n`)).stderr, what, id);
	assert.deepEqual(await tids(), ['T']);
	const hit = 'type,at,visitor,cid\nhit,2026-01-02T03:04:05Z,#N/A,1.91433E+17\n';
	assert.match((await run(hit)).stderr, /:2: cid is a number .*; visitor is an error of a spreadsheet/);
	assert.match((await run(`${header},tid\n${row('a')},b\n`)).stderr, /several columns tid;/);
	assert.match(
		(await run(`${header}\n${row('0001234')}\n${row('98765')}\n`)).stderr,
		/:3: tid has 5 digits, where/,
	);
	assert.match(
		(await run(`${header}\n${row('a')}, b\n`)).stderr,
		/it has 6 cells, but the header has 5: a cell with/,
	);
	assert.match(
		(await run(`${header},currency\n${row('a')},USD\n`)).stderr,
		/:2: currency must be GBP, what the account's/,
	);
	const event = '{"type":"subscription","at":"2026-01-02T03:04:05Z","tid":"J","subid":"S","evt":"e","rvn":1';
	assert.match((await run(`${event},"rvn":499}\n`)).stderr, /:1: it has several members rvn/);
	assert.match((await run(`${header}\r${row('a')}\r`)).stderr, /a carriage return alone/);
	assert.equal((await run(`sep=;\n${header}\n${row('b')}\n`.replaceAll(',', ';'))).code, 0);
	assert.equal((await run(`${header}\n${row('1.91433E+17')}\n`, '--ids-as-written')).code, 0);
	assert.deepEqual((await tids()).sort(), ['1.91433E+17', 'T', 'b']);
});

test('a column that says when events happened is taken, and never ignored', async (t) => {
	const yesterday = new Date(Date.now() - 86_400_000).toISOString();
	const rows = (heading: string, time: string) => `tid,subid,evt,${heading}\nA,S,newsletter,${time}\n`;
	for (const heading of ['Created at', 'order_date', 'Timestamp', 'paid_at', 'Date']) {
		const said = await refused(t, rows(heading, yesterday));
		assert.match(said, /seems to say when events happened\. Take it with --map at=/, heading);
		assert.ok(said.includes(`--map at=${heading},`), said);
	}
	const times = async (content: string, flags: readonly string[]) => {
		const service = await openAccount();
		const { code, stderr } = await uploadFile(service, fileOf(t, content), flags);
		assert.equal(code, 0, stderr);
		return (await service.stored()).map(({ at }) => at);
	};
	assert.deepEqual(await times(rows('paid_at', yesterday), ['--map', 'at=paid_at']), [yesterday]);
	assert.deepEqual(await times(rows('at', yesterday), []), [yesterday]);
	assert.deepEqual(await times(rows('paid_at', yesterday), ['--map', 'at=']), [undefined]);
	const line = (tid: string, rest: object) => `${JSON.stringify({ tid, subid: 'S', evt: 'e', ...rest })}\n`;
	for (const member of ['created_at', 'orderDate', 'timestamp', 'paid_at']) {
		const said = await refused(t, line('A', {}) + line('B', { [member]: yesterday }));
		assert.ok(said.includes(`events.csv:2: the member ${member} seems to say when events happened.`), said);
		assert.ok(said.includes(`--map at=${member},`), said);
	}
	const told = line('A', { paid_at: yesterday, rvn: 1 });
	assert.deepEqual(await times(told, ['--map', 'at=paid_at']), [yesterday]);
	assert.deepEqual(await times(line('A', { at: yesterday, rvn: 1, created: 'x' }), []), [yesterday]);
	assert.deepEqual(await times(told, ['--map', 'at=']), [undefined]);
	assert.match(
		await refused(t, told, ['--map', 'at=payed_at']),
		/no line has the member payed_at that --map at=payed_at names\./,
	);
	for (const time of ['31.01.2026 12:00', '2020-01-31T12:00:00Z', '2199-01-31T12:00:00Z']) {
		const said = await refused(t, rows('at', time));
		assert.match(said, /:2: at must be a time with a zone, for example 2026-01-31T12:00:00Z/);
	}
});
