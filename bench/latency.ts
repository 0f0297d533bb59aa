import type { BenchContext, Benchmark, BenchmarkResult } from './benchmark.ts';
import { idleMetrics } from './metrics.ts';
import type { OpenLoopInput, OpenLoopResult } from './open-loop.ts';
import { runProgram } from './processes.ts';
import { serveBare, upload } from './servers.ts';
import { median, type Row, whole } from './table.ts';
import { eventsPerUpload, nextPrefix } from './upload-bodies.ts';
import { connections, type Load, wrk } from './wrk.ts';

/** Latency of uploads at half of the service's peak throughput. */
export const latency: Benchmark = { name: 'latency', measure };

async function measure(bench: BenchContext): Promise<BenchmarkResult> {
	const { options, caskade, progress } = bench;
	const server = await caskade.serve();
	const bare = await serveBare({ ...(await upload(server.url, caskade.key, eventsPerUpload)), parse: true });
	const load: Load = { rows: eventsPerUpload, key: caskade.key, tids: 'rising' };
	if (options.warmUpSeconds > 0) {
		await wrk(bare.url, load, options.warmUpSeconds);
		await wrk(server.url, load, options.warmUpSeconds);
	}
	const peakPerSecond = bench.peakPerSecond ?? (await measurePeak(server.url, load, options.seconds));
	const ratePerSecond = Math.round(peakPerSecond / 2);
	const openLoop = (url: string) => {
		const input: OpenLoopInput = {
			url,
			requests: { kind: 'uploads', key: caskade.key, rows: eventsPerUpload, prefix: nextPrefix() },
			ratePerSecond,
			// A warm-up of the load generator.
			warmUpSeconds: options.warmUpSeconds / 2,
			seconds: options.seconds,
			connections,
		};
		return runProgram<OpenLoopResult>('open-loop.ts', input);
	};
	await idleMetrics(server.metricsUrl);
	const eventsBefore = await server.database.countEvents();
	const bareResults: OpenLoopResult[] = [];
	const results: OpenLoopResult[] = [];
	for (let run = 1; run <= options.runs; run++) {
		const bareResult = await openLoop(bare.url);
		const result = await openLoop(server.url);
		bareResults.push(bareResult);
		results.push(result);
		progress(
			`latency, run ${run} of ${options.runs}: p50 ${ms(result.p50Ms)}, p99 ${ms(result.p99Ms)}, bare http ${ms(bareResult.p50Ms)}, ${ms(bareResult.p99Ms)}; of that the load generator's own delay (p99) ${ms(result.generatorDelayP99Ms)}`,
		);
	}
	const events = (await server.database.countEvents()) - eventsBefore;
	const answered = results.reduce((sum, result) => sum + result.answered, 0);
	if (results.some(({ unexpected }) => unexpected > 0) || events !== answered * eventsPerUpload)
		throw new Error(
			`latency: ${answered} uploads of ${eventsPerUpload} were answered, but ${events} events are stored.`,
		);
	await Promise.all([server.stop(), bare.stop()]);

	const row = (name: string, of: (result: OpenLoopResult) => number, runs = results): Row => ({
		measure: `latency at ${whole(ratePerSecond)} requests/s: ${name}`,
		caskade: ms(median(runs.map(of))),
		baseline: ms(median(bareResults.map(of))),
		comparedWith: 'bare http, same load',
		ratio: '',
		aim: '',
		result: '',
	});
	return {
		rows: [row('p50', ({ p50Ms }) => p50Ms), row('p99', ({ p99Ms }) => p99Ms)],
		notes: [
			`latency: at half of the peak throughput, ${eventsPerUpload} new events a request, measured from the time a request was due; ${whole(events)} rows in the database = ${whole(answered)} answers with 201 × ${eventsPerUpload}.`,
		],
	};
}

async function measurePeak(url: string, load: Load, seconds: number): Promise<number> {
	const result = await wrk(url, load, seconds);
	return result.requests / result.seconds;
}

export function ms(value: number): string {
	return `${value.toFixed(2)} ms`;
}
