import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { minuteMs } from '../../../../src/core/durations.ts';
import { countRows } from '../../../../src/core/store/account/reading/rows.ts';
import { seededRandom } from '../../../../src/kit/random.ts';
import { assertAsTheLogSays } from '../../../core/store/contract/visitors.ts';
import {
	addAccount,
	type Engine,
	engines,
	enginesAboveContract,
	openFor,
} from '../../../core/store/engines.ts';
import {
	assertMisused,
	assertRefused,
	caskade,
	caskadeJson,
	mainPath,
	TestProcess,
} from '../../../process.ts';
import { takesLong } from '../../../quick.ts';
import { serveHere } from '../../../serve-here.ts';
import { browserUserAgent, roomyPlan, temporaryFolder } from '../../../support.ts';

const [sqlite, postgres] = engines as [Engine, Engine];
const at = (minutes: number) => new Date(Date.UTC(2026, 0, 31, 10) + minutes * minuteMs).toISOString();
const json = (...lines: readonly object[]) => `${lines.map((line) => JSON.stringify(line)).join('\n')}\n`;

interface Report {
	readonly aid: string;
	readonly files: readonly object[];
	readonly stored: { readonly hits: number; readonly events: number; readonly repeated: number };
}

interface Shown {
	readonly profile: { readonly hits: number; readonly subscriptions: { readonly count: number } | null };
	readonly visits: readonly { readonly hits: number }[];
	readonly subscriptionEvents: readonly { readonly tid: string; readonly receivedAt: string }[];
}

/** An installation with one account, and a place for files. */
async function install(t: TestContext, engine = sqlite) {
	const database = await engine.installedAddress(t);
	const store = await openFor(t, database);
	const accountId = await addAccount(store, 'c-a-acme-uk');
	const folder = temporaryFolder(t);
	const file = (name: string, content: string | Buffer) => {
		const path = join(folder, name);
		writeFileSync(path, content);
		return path;
	};
	const args = (...files: readonly string[]) => ['import', 'c-a-acme-uk', ...files, '--database', database];
	const importJson = async (...files: readonly string[]) => (await caskadeJson(args(...files))) as Report;
	const show = async (vid: string) =>
		(await caskadeJson(['visitor', 'show', 'c-a-acme-uk', vid, '--database', database])) as Shown;
	return { database, store, accountId, folder, file, args, importJson, show };
}

/** By name. */
function readMapping(path: string): Map<string, string> {
	const lines = readFileSync(path, 'utf8').trim().split('\n');
	const pairs = lines.map((line) => JSON.parse(line) as { visitor: string; vid: string });
	assert.equal(new Set(pairs.map(({ visitor }) => visitor)).size, pairs.length, 'each visitor once');
	return new Map(pairs.map(({ visitor, vid }) => [visitor, vid]));
}

for (const engine of enginesAboveContract)
	test(`on ${engine.name} import brings in hits and events of NDJSON and CSV with their times, and joins them`, async (t) => {
		const { folder, file, args, importJson, show, store, accountId } = await install(t, engine);
		const lines = file(
			'history.ndjson',
			`\ufeff${json(
				{ type: 'hit', at: at(0), visitor: 'Ann', url: 'https://shop.example/pricing' },
				{ type: 'hit', at: at(10), visitor: 'Ann', events: [{ name: 'checkout', tid: 'T-1' }] },
				{ type: 'hit', at: at(60), visitor: 'Ann', cid: 'C-ann' },
				{ type: 'subscription', at: at(5), tid: 'T-1', subid: 'S-1', evt: 'newsletter', rvn: 499 },
			).replaceAll('\n', '\r\n\r\n')}`,
		);
		const rows = file(
			'history.csv',
			`type,at,visitor,visit,url,events,tid,subid,cid,evt,rvn\nhit,${at(0)},Bob,v1,"https://shop.example/a,b",view;play,,,,,\nhit,${at(500)},Bob,v1,,,,,,,\nsubscription,${at(900)},,,,,T-2,S-2,C-ann,membership,-5\n`,
		);
		const mapping = join(folder, 'mapping');
		assert.deepEqual(await importJson(lines, rows, '--mapping', mapping), {
			aid: 'c-a-acme-uk',
			files: [
				{ file: lines, lines: 4, hits: 3, events: 1, bots: 0, bad: 0 },
				{ file: rows, lines: 3, hits: 2, events: 1, bots: 0, bad: 0 },
			],
			stored: { hits: 5, events: 2, repeated: 0, conflicts: 0 },
		});
		const vids = readMapping(mapping);
		assert.deepEqual([...vids.keys()].sort(), ['Ann', 'Bob']);
		const ann = await show(vids.get('Ann') as string);
		assert.deepEqual(
			ann.visits.map(({ hits }) => hits),
			[2, 1],
		);
		assert.deepEqual(
			ann.subscriptionEvents.map(({ tid, receivedAt }) => [tid, receivedAt]),
			[
				['T-1', at(5)],
				['T-2', at(900)],
			],
		);
		const bob = await show(vids.get('Bob') as string);
		assert.deepEqual([bob.profile.hits, bob.visits.length], [2, 1]);
		const plain = await caskade(args(lines));
		assert.equal(plain.code, 0);
		assert.match(
			plain.stdout,
			/lines +hits +events +bots +bad\n.+\n\nhits +events +repeated +conflicts\n +0 +0 +4 +0\n$/,
		);
		await assertAsTheLogSays(store, accountId);
	});

test('hits with a seed are imported as the visitor who sends it later', async (t) => {
	const { database, store, file, folder, importJson, show } = await install(t);
	const [seed, other] = ['1'.repeat(32), '2'.repeat(32)];
	const lines = file(
		'seeds.csv',
		`type,at,visitor,seed,visit\nhit,${at(0)},,${seed},v1\nhit,${at(200)},,${seed},v1\nhit,${at(0)},,${other},v1\nhit,${at(0)},${seed},,v1\n`,
	);
	const mapping = join(folder, 'mapping');
	const { stored } = await importJson(lines, '--mapping', mapping);
	assert.deepEqual(stored, { hits: 4, events: 0, repeated: 0, conflicts: 0 });
	assert.equal((await importJson(lines)).stored.repeated, 4);
	// A name that looks like a seed is a name.
	assert.deepEqual([...readMapping(mapping).keys()], [seed]);
	await store.close();
	await using server = await serveHere(['--database', database]);
	const answer = await fetch(`${server.url}/hit`, {
		method: 'POST',
		headers: { 'user-agent': browserUserAgent },
		body: JSON.stringify({ aid: 'c-a-acme-uk', seed }),
	});
	const { vid } = (await answer.json()) as { vid: string };
	assert.notEqual(vid, readMapping(mapping).get(seed));
	const { profile, visits } = await show(vid);
	assert.deepEqual([profile.hits, visits.map(({ hits }) => hits)], [3, [2, 1]]);
});

test('invalid lines are reported by number and field and not stored, and the exit code is 1', async (t) => {
	const { file, args, importJson, store, accountId } = await install(t);
	const good = { type: 'hit', at: at(0), visitor: 'Ann' };
	const path = file(
		'history.ndjson',
		Buffer.concat([
			Buffer.from(
				json(
					good,
					{ ...good, at: '2026-02-30T10:00:00Z', url: 7 },
					{ type: 'subscription', at: at(1), tid: '', evt: 'newsletter', rvn: '4.99', cid: 'secret\u0000' },
					{ ...good, at: at(2), events: [{ name: 'a' }, { rvn: 1 }] },
					{ type: 'page', secret: 1 },
				),
			),
			Buffer.from('{"type":"hit","secret\n'),
			Buffer.from([0xff, 0x0a]),
			Buffer.from(json({ ...good, at: at(3), userAgent: 'Googlebot/2.1 (+http://www.google.com/bot.html)' })),
			Buffer.from('{"type":"subscription"}'),
		]),
	);
	const { code, stdout, stderr } = await caskade([...args(path), '--json']);
	assert.equal(code, 1);
	const text = 'a string of 1 to 255 characters, without control characters or lone surrogates';
	const time = 'at must be a past time with its zone, such as 2026-01-31T10:00:00Z';
	assert.deepEqual(stderr.replaceAll(`${path}:`, '').trimEnd().split('\n'), [
		`2: ${time}; url must be a string of at most 8192 characters`,
		`3: tid must be ${text}; subid is required; cid must be ${text}; rvn must be an integer, in whole pence or cents, for example 499`,
		'4: events[1].name is required',
		'5: type must be hit or subscription',
		'6: the line must be JSON',
		'7: the line must be UTF-8',
		`9: ${time}; tid is required; subid is required; evt is required`,
	]);
	const report = JSON.parse(stdout) as Report;
	assert.deepEqual(report.files, [{ file: path, lines: 9, hits: 1, events: 0, bots: 1, bad: 7 }]);
	assert.deepEqual(report.stored, { hits: 1, events: 0, repeated: 0, conflicts: 0 });
	await assertAsTheLogSays(store, accountId);

	const many = file('many.ndjson', '{}\n'.repeat(250));
	const ended = await caskade(args(many));
	assert.match(
		ended.stderr,
		/:100: type must be hit or subscription\nFurther problems are only counted in the report\.\n/,
	);
	assert.doesNotMatch(ended.stderr, /:101:/);
	assert.match(ended.stdout, /many\.ndjson +250 +0 +0 +0 +250/);
	assert.deepEqual((await importJson(file('empty', ''))).stored, {
		hits: 0,
		events: 0,
		repeated: 0,
		conflicts: 0,
	});
});

test('a stored tid keeps its content; other content is reported as a conflict', async (t) => {
	const { file, args, importJson } = await install(t);
	const sale = { type: 'subscription', at: at(0), tid: 'T-1', subid: 'S-1', evt: 'newsletter', rvn: 1 };
	await importJson(file('first', json(sale)));
	const path = file('second', json(sale, { ...sale, rvn: 2 }));
	const { code, stdout, stderr } = await caskade([...args(path), '--json']);
	assert.equal(code, 3);
	assert.equal(stderr, `${path}:2: conflict: its tid is stored with other content\n`);
	assert.deepEqual((JSON.parse(stdout) as Report).stored, { hits: 0, events: 0, repeated: 2, conflicts: 1 });
	assert.equal((await caskade([...args(path), '--conflicts', 'ok'])).code, 0);
});

test('standard input is read like a file, compressed or not', async (t) => {
	const { args, file, importJson } = await install(t);
	const lines = json({ type: 'hit', at: at(0), visitor: 'Ann' }, { type: 'hit', at: at(1), visitor: 'Ann' });
	const command = new TestProcess(process.execPath, [mainPath, ...args('-', '--json')]);
	command.child.stdin?.end(gzipSync(lines));
	const { code, stdout } = await command.ended;
	assert.equal(code, 0);
	assert.equal((JSON.parse(stdout) as Report).stored.hits, 2);
	const { stored } = await importJson(file('history.ndjson', gzipSync(lines)));
	assert.deepEqual(stored, { hits: 0, events: 0, repeated: 2, conflicts: 0 });
	const rows = `type;at;visitor;events\nhit;${at(0)};Bob;"a;b"\n`;
	assert.equal((await importJson(file('history.csv', rows))).stored.hits, 1);
});

/** Visitors of five hits, two visits, and a sale; the same on every call. */
function manyLines(visitors: number): string[] {
	return Array.from({ length: visitors }, (_, visitor) => {
		const startMinutes = visitor % 1000;
		const hits = [0, 5, 20, 400, 410].map((minutes, index) => ({
			type: 'hit',
			at: at(startMinutes + minutes),
			visitor: `user-${visitor}`,
			url: `https://shop.example/${index}`,
			events: index === 4 ? [{ name: 'checkout', tid: `T-${visitor}` }] : [],
		}));
		const sale = { type: 'subscription', tid: `T-${visitor}`, subid: `S-${visitor}`, evt: 'newsletter' };
		return [...hits, { ...sale, at: at(startMinutes + 405) }].map((line) => JSON.stringify(line));
	}).flat();
}

/** Imports a file; then what is known of each visitor by their name, without what every installation names anew. */
async function knownOf(
	{ store, accountId, folder, importJson }: Awaited<ReturnType<typeof install>>,
	path: string,
): Promise<{ known: Map<string, string>; stored: Report['stored'] }> {
	const mapping = join(folder, 'mapping');
	const { stored } = await importJson(path, '--mapping', mapping);
	const reader = store.startReading();
	const known = new Map<string, string>();
	for (const [visitor, vid] of readMapping(mapping)) {
		const profile = await reader.visitor(accountId, vid);
		known.set(visitor, JSON.stringify({ ...profile, visit: { ...profile?.visit, sid: '' } }));
	}
	await reader.close();
	return { known, stored };
}

/** Enough for a command to be killed while it stores them. */
const visitors = 400;

test('a killed import is completed by running it again; nothing is stored twice or depends on the order', {
	skip: takesLong,
}, async (t) => {
	const lines = manyLines(visitors);
	const random = seededRandom(7);
	const shuffled = lines
		.map((line) => [random(), line] as const)
		.sort(([a], [b]) => a - b)
		.map(([, line]) => line);
	const temporary = temporaryFolder(t);
	let killed = await install(t);
	let path = '';
	let [hits, events] = [0, 0];
	// A machine that is busy may let the command end before it is killed.
	for (let attempt = 0; hits === 0 || (hits === 5 * visitors && attempt < 5); attempt++) {
		if (attempt > 0) killed = await install(t);
		path = killed.file('shuffled.ndjson', shuffled.join('\n'));
		await using command = new TestProcess(process.execPath, [mainPath, ...killed.args(path)], {
			TMPDIR: temporary,
		});
		const stored = (table: 'hit' | 'subscription_event') =>
			killed.store.read(killed.accountId, countRows(table));
		while ((await stored('hit')) === 0) await delay(10);
		await command.kill();
		[hits, events] = [await stored('hit'), await stored('subscription_event')];
	}
	const whole = await install(t);
	assert.ok(hits > 0 && hits < 5 * visitors, `killed after ${hits} hits`);
	assert.equal(events, visitors);
	assert.deepEqual(
		readdirSync(temporary).filter((name) => name.startsWith('caskade')),
		[],
		'nothing that was read is left',
	);
	await assertAsTheLogSays(killed.store, killed.accountId);

	const report = await killed.importJson(path);
	assert.deepEqual(report.stored, {
		hits: 5 * visitors - hits,
		events: 0,
		repeated: hits + events,
		conflicts: 0,
	});
	const again = await knownOf(killed, path);
	assert.deepEqual(again.stored, { hits: 0, events: 0, repeated: 6 * visitors, conflicts: 0 });
	const inOrder = whole.file('ordered.ndjson', lines.join('\n'));
	const { known } = await knownOf(whole, inOrder);
	assert.equal(known.size, visitors);
	assert.deepEqual(again.known, known);
	assert.match(known.get('user-0') as string, /"visits":2,.*"subscriptions":\{"count":1/);
});

for (const engine of [sqlite, postgres])
	test(`on ${engine.name} a running server is not disturbed, and knows the imported visitors`, {
		skip: engine === postgres && takesLong,
	}, async (t) => {
		const { database, file, args, folder, store } = await install(t, engine);
		await store.control.createPlan(roomyPlan);
		const { key } = await store.control.issueKey('acme', roomyPlan.name);
		await using server = await serveHere(['--database', database]);
		const path = file('history.ndjson', manyLines(200).join('\n'));
		const mapping = join(folder, 'mapping');
		const command = new TestProcess(process.execPath, [mainPath, ...args(path, '--mapping', mapping)]);
		let uploads = 0;
		const over = command.ended.then(() => true);
		while (!(await Promise.race([over, delay(20, false)]))) {
			const sale = { tid: `live-${uploads}`, subid: 'S', cid: null, evt: 'newsletter', rvn: 1 };
			const { status } = await server.upload(key, { aid: 'c-a-acme-uk', data: [sale] });
			assert.equal(status, 201);
			uploads++;
		}
		assert.equal((await command.ended).code, 0);
		assert.ok(uploads > 0);
		const vid = readMapping(mapping).get('user-7') as string;
		const issue = ['cask', 'issue', 'c-a-acme-uk', '--vid', vid, '--database', database];
		const { cask } = (await caskadeJson(issue)) as { cask: string };
		const read = await fetch(`${server.url}/visscores/segments?cask=${cask}`);
		const { segments } = (await read.json()) as { segments: { id: string }[] };
		assert.ok(segments.some(({ id }) => id === 'subscriber'));
	});

test('files that cannot be imported are refused before anything is stored', async (t) => {
	const { folder, file, args, database, store, accountId } = await install(t);
	const path = file('history.ndjson', json({ type: 'hit', at: at(0), visitor: 'Ann' }));
	assertRefused(await caskade(args(path, join(folder, 'none'))), /There is no file .*none/);
	assertRefused(await caskade(args(folder)), /is a folder\./);
	const quietly = (...files: string[]) => caskade([...args(...files), '--json']);
	assertRefused(
		await quietly(file('array', JSON.stringify([{ type: 'hit' }]))),
		/array is a JSON array\. Write one JSON object per line/,
	);
	const rows = 'hit,2026-01-31T10:00:00Z,Ann\n'.repeat(100);
	assertRefused(
		await quietly(file('header.csv', `Type,At,visitor\n${rows}`)),
		/header\.csv has no column type and at; its header reads "Type,At,visitor"\. A history has 'hit' or 'subscription' in type/,
	);
	assertRefused(await quietly(path, file('later.csv', 'visitor,at\n')), /later\.csv has no column type/);
	assert.equal(await store.read(accountId, countRows('hit')), 0);
	assertRefused(
		await caskade(args(path, '--mapping', join(folder, 'no', 'mapping'))),
		/mapping cannot be written/,
	);
	assertRefused(
		await caskade(['import', 'c-a-nobody', path, '--database', database]),
		/There is no account c-a-nobody/,
	);
	assertMisused(await caskade(['import', 'c-a-acme-uk']), /<file> is missing/);
});

for (const engine of enginesAboveContract)
	test(`on ${engine.name} a file whose visitors were taken apart stores nothing twice`, async (t) => {
		const { database, file, importJson, store, accountId } = await install(t, engine);
		const hit = (minute: number, cid?: string) => ({
			type: 'hit',
			at: at(minute),
			visitor: 'shared browser',
			url: `https://shop.example/${minute}`,
			...(cid !== undefined && { cid }),
		});
		const lines = [
			hit(0),
			hit(1, 'A'),
			hit(2),
			hit(300, 'B'),
			hit(301),
			hit(301, 'C'),
			hit(600, 'A'),
			hit(601),
		];
		const history = file('history.ndjson', json(...lines));
		const { stored: first } = await importJson(history);
		assert.equal(first.hits, lines.length);
		const takeApart = async () => {
			const rebuild = ['visitor', 'rebuild', 'c-a-acme-uk', '--database', database];
			assert.equal(((await caskadeJson(rebuild)) as { apart: number }).apart, 1);
		};
		await takeApart();
		const { stored: again } = await importJson(history);
		assert.deepEqual([again.hits, again.repeated], [0, lines.length]);
		// A file that has grown adds what is new, also of those who were taken apart.
		const { stored: more } = await importJson(file('grown.ndjson', json(...lines, hit(900, 'B'), hit(901))));
		assert.deepEqual([more.hits, more.repeated], [2, lines.length]);
		await takeApart();
		await assertAsTheLogSays(store, accountId);
	});
