import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { concurrency } from '../src/capabilities/history/upload/file-upload.ts';
import { run, temporaryFolder } from './processes.ts';
import { Caskade } from './servers.ts';
import { SqliteBenchDatabase } from './sqlite-database.ts';
import { aidOf } from './upload-bodies.ts';
import { requireWrk, uploads, wrk, wrkScript } from './wrk.ts';

const rows = Number(process.argv[2] ?? 1_000_000);
const seconds = Number(process.argv[3] ?? 5);
const rowsPerRequest = 30;

function* csv(): Generator<string> {
	yield 'tid,subid,cid,evt,rvn\n';
	for (let row = 0; row < rows; row++)
		yield `o-${row},sub-${row % 100_000},cust-${row % 50_000},newsletter,${row % 5000}\n`;
}

/** Compares `caskade upload` of a generated file, including the start of its process, with wrk on as many connections. */
async function measure(): Promise<void> {
	await requireWrk();
	const folder = temporaryFolder(undefined);
	const caskade = await Caskade.prepare(folder, new SqliteBenchDatabase(join(folder, 'template')));
	const path = join(folder, 'events.csv');
	await pipeline(csv(), createWriteStream(path));

	const first = await caskade.serve();
	const load = { rows: rowsPerRequest, key: caskade.key, tids: 'rising' } as const;
	await wrk(first.url, load, 1);
	const loaded = await wrkScript(first.url, uploads(load), seconds, concurrency);
	await first.stop();
	const perSecond = loaded.requests / loaded.seconds;

	const second = await caskade.serve();
	await wrk(second.url, load, 1);
	const beganMs = performance.now();
	await run(
		process.execPath,
		[
			...[join(import.meta.dirname, '../src/main.js'), 'upload', path],
			...['--url', second.url, '--aid', aidOf(1), '--json'],
		],
		{ CASKADE_KEY: caskade.key },
	);
	const tookSeconds = (performance.now() - beganMs) / 1000;
	await second.stop();

	const requests = Math.ceil(rows / rowsPerRequest);
	const wrkSeconds = requests / perSecond;
	console.log(`${rows} rows, ${requests} requests, ${concurrency} connections`);
	console.log(
		`wrk: ${Math.round(perSecond)} requests/s, which is ${wrkSeconds.toFixed(1)} s for ${requests} requests`,
	);
	console.log(
		`caskade upload: ${tookSeconds.toFixed(1)} s, ${(tookSeconds / wrkSeconds).toFixed(2)} times as long`,
	);
}

await measure();
