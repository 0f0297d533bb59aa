import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { pruneAll } from '../../../../src/capabilities/upkeep/jobs/retention-job.ts';
import { dayMs, minuteMs } from '../../../../src/core/durations.ts';
import { caskade, TestProcess } from '../../../process.ts';
import { takesLong } from '../../../quick.ts';
import { collectWork } from '../../../support.ts';
import {
	engines,
	receivedAtMs,
	type Serving,
	startServingFor,
	subscriptionEvent,
	upload,
} from '../engines.ts';
import { hit } from '../made-hits.ts';

const visitors = 80;
const hitsEach = 12;

const randomId = () => randomBytes(16).toString('hex');

/** The prefix of every stored value of visitor `number`; no prefix starts with another. */
const name = (number: number) => `Marker${String(number).padStart(4, '0')}`;

/** A server that has stored hits of many visitors, interleaved so that their profiles grow, and a sale of each. */
async function startWithVisitors(t: TestContext): Promise<Serving & { vids: string[]; folder: string }> {
	const [sqlite] = engines;
	assert.ok(sqlite);
	const serving = await startServingFor(t, sqlite);
	const { writer, accountId, address } = serving;
	const known: { vid: string; sid: string }[] = [];
	for (let round = 0; round < hitsEach; round++) {
		const arriving = Array.from({ length: visitors }, (_, number) =>
			hit(
				{
					...(known[number] ?? { freshVid: randomId(), freshSid: randomId() }),
					// Visitors with even numbers come a day later.
					atMs: receivedAtMs + round * minuteMs + (number % 2 === 0 ? dayMs : 0),
				},
				{
					page: `${name(number)}-page-${round}`,
					url: `https://shop.example/${name(number)}-url`,
					referrer: `https://search.example/${name(number)}-referrer`,
					title: `${name(number)}-title ${'and so on '.repeat(round)}`,
					events: [{ name: 'checkout', tid: `${name(number)}-tid` }],
					cid: `${name(number)}-cid`,
				},
			),
		);
		const stored = await Promise.all(arriving.map((one) => writer.storeHit(accountId, one)));
		known.splice(0, known.length, ...stored);
	}
	for (let number = 0; number < visitors; number++)
		await upload(writer, accountId, [subscriptionEvent({ cid: `${name(number)}-cid` })]);
	return {
		...serving,
		vids: known.map(({ vid }) => vid),
		folder: join(address.replace('sqlite:', ''), 'accounts'),
	};
}

/** How often each text occurs in an account's files. Another process reads them, so that no lock is lost. */
async function countIn(folder: string, texts: readonly string[]): Promise<number[]> {
	const script = `
		const { readdirSync, readFileSync } = require('node:fs');
		const [folder, ...texts] = process.argv.slice(1);
		const files = readdirSync(folder).map((file) => readFileSync(folder + '/' + file, 'latin1'));
		console.log(JSON.stringify(texts.map((text) => files.join('').split(text).length - 1)));
	`;
	const { stdout } = await new TestProcess(process.execPath, ['-e', script, folder, ...texts]).ended;
	return JSON.parse(stdout);
}

test('no byte of erased visitors stays in the files, while the server runs and after it has stopped', {
	skip: takesLong,
}, async (t) => {
	const { address, writer, store, accountId, vids, folder } = await startWithVisitors(t);
	const erased = [1, 2, 3, 30, 31, 50, 78];
	const texts = erased.flatMap((number) => [name(number), vids[number] as string]);
	assert.ok((await countIn(folder, texts)).every((count) => count > 0));
	const erase = async (...whom: string[]) => {
		const { code } = await caskade([
			'visitor',
			'erase',
			'c-a-acme-uk',
			...whom,
			'--yes',
			'--database',
			address,
		]);
		assert.equal(code, 0);
	};
	await erase(vids[1] as string);
	for (const number of erased.slice(1)) await erase('--cid', `${name(number)}-cid`);
	const none = texts.map(() => 0);
	assert.deepEqual(await countIn(folder, texts), none);
	await upload(writer, accountId, [subscriptionEvent()]);
	await writer.stop();
	await store.close();
	assert.deepEqual(await countIn(folder, texts), none);
	assert.ok(
		(await countIn(folder, [name(40)])).every((count) => count > 0),
		'others are still there',
	);
});

test('no byte of hits deleted by retention stays in the files', { skip: takesLong }, async (t) => {
	const { store, folder } = await startWithVisitors(t);
	const odd = Array.from({ length: visitors / 2 }, (_, index) => name(2 * index + 1));
	const texts = odd.flatMap((visitor) => [`${visitor}-title`, `${visitor}-url`, `${visitor}-page`]);
	const { log, lines } = collectWork();
	await pruneAll(store, {
		keepHitsDays: 1,
		keepTouches: false,
		everyMs: 1,
		now: () => receivedAtMs + 47 * 60 * minuteMs,
		log,
		signal: new AbortController().signal,
	});
	for (const [text] of lines) assert.equal(text, 'pruned');
	assert.deepEqual(
		await countIn(folder, texts),
		texts.map(() => 0),
	);
});
