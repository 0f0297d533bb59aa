import type { BenchContext, Benchmark, BenchmarkResult } from './benchmark.ts';
import { type RunningProcess, serveBare, upload } from './servers.ts';
import { median, verdict, whole } from './table.ts';

const aimMs = 1000;

/** Time from the start of the process to its first 201, on a data folder with an account and keys. */
export const startUp: Benchmark = { name: 'start-up', measure };

async function measure({ options, caskade, progress }: BenchContext): Promise<BenchmarkResult> {
	const timesMs: number[] = [];
	const bareMs: number[] = [];
	// The first start is not counted, because it fills Node's compile cache.
	for (let run = 0; run <= options.startUps; run++) {
		const database = await caskade.newDatabase();
		timesMs.push(await timeToFirst201(caskade.key, () => caskade.serve(database)));
		bareMs.push(
			await timeToFirst201(caskade.key, () =>
				serveBare({ status: 201, headers: [], body: '{}', parse: true }),
			),
		);
		progress(
			`start-up, ${run === 0 ? 'not counted' : `run ${run} of ${options.startUps}`}: ${whole(timesMs.at(-1) ?? 0)} ms`,
		);
	}
	const [firstMs = 0, ...countedMs] = timesMs;
	return {
		rows: [
			{
				measure: 'start-up to the first 201',
				caskade: `${whole(median(countedMs))} ms`,
				baseline: `${whole(median(bareMs.slice(1)))} ms`,
				comparedWith: 'bare http',
				ratio: '',
				aim: `under ${whole(aimMs)} ms`,
				result: verdict(median(countedMs) < aimMs),
			},
		],
		notes: [
			`start-up: ${countedMs.map(whole).join(', ')} ms, and ${whole(firstMs)} ms for the first, which is not counted.`,
		],
	};
}

async function timeToFirst201(key: string, serve: () => Promise<RunningProcess>): Promise<number> {
	const startedAtMs = performance.now();
	const server = await serve();
	const { status, body } = await upload(server.url, key, 1);
	const elapsedMs = performance.now() - startedAtMs;
	await server.stop();
	if (status !== 201) throw new Error(`start-up: the first answer is ${status} ${body}.`);
	return elapsedMs;
}
