import type { Bench, Line, LineResult } from './line.ts';
import { quietMetrics } from './metrics.ts';
import type { OpenLoopInput, OpenLoopResult } from './open-loop.ts';
import { runProgram } from './processes.ts';
import { manyRows, nextPrefix } from './rows.ts';
import { serveBare, upload } from './servers.ts';
import { median, type Row, whole } from './table.ts';
import { connections, type Load, wrk } from './wrk.ts';

/** Latency of large uploads at half of what the service takes of them, at most. */
export const latency: Line = { name: 'latency', measure };

async function measure(bench: Bench): Promise<LineResult> {
	const { options, caskade, progress } = bench;
	const server = await caskade.serve();
	const bare = await serveBare({ ...(await upload(server.url, caskade.key, manyRows)), parse: true });
	const load: Load = { rows: manyRows, key: caskade.key, tids: 'rising' };
	if (options.warmUpSeconds > 0) {
		await wrk(bare.url, load, options.warmUpSeconds);
		await wrk(server.url, load, options.warmUpSeconds);
	}
	const peakPerSecond = bench.peakPerSecond ?? (await measurePeak(server.url, load, options.seconds));
	const ratePerSecond = Math.round(peakPerSecond / 2);
	const openLoop = (url: string) => {
		const input: OpenLoopInput = {
			url,
			messages: { kind: 'uploads', key: caskade.key, rows: manyRows, prefix: nextPrefix() },
			ratePerSecond,
			// The generator warms up too.
			warmUpSeconds: options.warmUpSeconds / 2,
			seconds: options.seconds,
			connections,
		};
		return runProgram<OpenLoopResult>('open-loop.ts', input);
	};
	await quietMetrics(server.metricsUrl);
	const eventsBefore = await server.place.countEvents();
	const bareResults: OpenLoopResult[] = [];
	const results: OpenLoopResult[] = [];
	for (let run = 1; run <= options.runs; run++) {
		const bareResult = await openLoop(bare.url);
		const result = await openLoop(server.url);
		bareResults.push(bareResult);
		results.push(result);
		progress(
			`latency, run ${run} of ${options.runs}: p50 ${ms(result.p50Ms)}, p99 ${ms(result.p99Ms)}, bare http ${ms(bareResult.p50Ms)}, ${ms(bareResult.p99Ms)}; of that the generator's own lateness (p99) ${ms(result.noticedLateP99Ms)}`,
		);
	}
	const events = (await server.place.countEvents()) - eventsBefore;
	const answered = results.reduce((sum, result) => sum + result.answered, 0);
	if (results.some(({ other }) => other > 0) || events !== answered * manyRows)
		throw new Error(
			`latency: ${answered} uploads of ${manyRows} were answered, ${events} events are stored.`,
		);
	await Promise.all([server.stop(), bare.stop()]);

	const row = (name: string, of: (result: OpenLoopResult) => number, runs = results): Row => ({
		measure: `latency at ${whole(ratePerSecond)} requests/s: ${name}`,
		caskade: ms(median(runs.map(of))),
		ceiling: ms(median(bareResults.map(of))),
		of: 'bare http, same load',
		ratio: '',
		aim: '',
		result: '',
	});
	return {
		rows: [row('p50', ({ p50Ms }) => p50Ms), row('p99', ({ p99Ms }) => p99Ms)],
		notes: [
			`latency: half of the peak, ${manyRows} new events a request, from the moment a request was due; ${whole(events)} rows in the database = ${whole(answered)} answers with 201 × ${manyRows}.`,
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
