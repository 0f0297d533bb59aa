/**
 * `npm run proof:forecast-shapes [ACCOUNTS] [SEED]` simulates accounts (40) of each of twelve shapes of business from a seed (201) on, makes forecasts of them from what
 * was known on days of the past, and compares these with what came, beside two simple forecasts: as much as the last period, and each
 * due date × the share of dues that were renewed so far. In per cent. The forecast was made to suit seeds below 201. Fails if a shape
 * has shortcomings that chance does not explain. `test/capabilities/reports/forecast-shapes.test.ts` is the short form.
 */
import { availableParallelism } from 'node:os';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import {
	judge,
	judgedTable,
	type Made,
	madeOf,
	shortcomingsOf,
	toldBy,
} from '../capabilities/reports/forecast-shapes.ts';

if (isMainThread) {
	const [accounts, firstSeed] = [Number(process.argv[2] ?? 40), Number(process.argv[3] ?? 201)];
	const seeds = Array.from({ length: accounts }, (_, place) => firstSeed + place);
	const threads = Math.min(accounts, availableParallelism());
	const parts = Array.from({ length: threads }, (_, thread) =>
		madeIn(seeds.filter((seed) => seed % threads === thread)),
	);
	const judged = judge((await Promise.all(parts)).flat());
	console.table(judgedTable(judged));
	const shortcomings = shortcomingsOf(judged);
	for (const shortcoming of shortcomings) console.error(shortcoming);
	if (shortcomings.length > 0) process.exitCode = 1;
} else {
	parentPort?.postMessage((workerData as number[]).flatMap((seed) => madeOf(seed, toldBy)));
}

/** Forecasts of accounts, made in another thread. */
function madeIn(seeds: readonly number[]): Promise<Made[]> {
	const { promise, resolve, reject } = Promise.withResolvers<Made[]>();
	const worker = new Worker(new URL(import.meta.url), { workerData: seeds });
	worker.once('message', resolve);
	worker.once('error', reject);
	return promise;
}
