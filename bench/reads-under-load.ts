import type { BenchContext, Benchmark, BenchmarkResult } from './benchmark.ts';
import { writeCasks } from './casks.ts';
import { beginVisits } from './hits.ts';
import { ms } from './latency.ts';
import type { OpenLoopInput, OpenLoopResult } from './open-loop.ts';
import { runProgram } from './processes.ts';
import type { RequestKind } from './requests.ts';
import { median, type Row, verdict, whole } from './table.ts';
import { eventsPerUpload, nextPrefix } from './upload-bodies.ts';
import { connections, uploads, type WrkResult, wrkScript } from './wrk.ts';

const aimMs = 10;
const readsPerSecond = 500;

/**
 * Latency of reads while hits and uploads arrive at half of their peak throughput. The peak is measured with both running
 * together, each on half of the connections.
 */
export const readsUnderLoad: Benchmark = { name: 'reads-under-load', measure };

async function measure({ options, caskade, progress }: BenchContext): Promise<BenchmarkResult> {
	const visitors = options.visitorCounts[1] ?? (options.visitorCounts[0] as number);
	const { database } = await caskade.populated(visitors);
	const server = await caskade.serve(database, 'kept');
	const { valid: casks } = await writeCasks(database, caskade.folder);
	const { script: hits, path: visits } = await beginVisits(server, caskade.folder);
	const peak = (seconds: number) =>
		Promise.all([
			wrkScript(server.url, hits, seconds, connections / 2),
			wrkScript(
				server.url,
				uploads({ rows: eventsPerUpload, key: caskade.key, tids: 'rising' }),
				seconds,
				connections / 2,
			),
		]);
	const generate = (requests: RequestKind, ratePerSecond: number) =>
		runProgram<OpenLoopResult>('open-loop.ts', {
			url: server.url,
			requests,
			ratePerSecond,
			connections,
			warmUpSeconds: options.warmUpSeconds / 2,
			seconds: options.seconds,
		} satisfies OpenLoopInput);

	if (options.warmUpSeconds > 0) await peak(options.warmUpSeconds);
	const halfOf = ({ requests, seconds }: WrkResult) => Math.max(1, Math.round(requests / seconds / 2));
	const [hitsPerSecond, uploadsPerSecond] = (await peak(options.seconds)).map(halfOf) as [number, number];
	const load = `${whole(hitsPerSecond)} hits/s, ${whole(uploadsPerSecond)} uploads/s of ${eventsPerUpload}`;
	const alone: OpenLoopResult[] = [];
	const loaded: OpenLoopResult[] = [];
	const writes: OpenLoopResult[] = [];
	for (let run = 1; run <= options.runs; run++) {
		alone.push(await generate({ kind: 'reads', casks }, readsPerSecond));
		const [reading, ...writing] = await Promise.all([
			generate({ kind: 'reads', casks }, readsPerSecond),
			generate({ kind: 'hits', visits }, hitsPerSecond),
			generate(
				{ kind: 'uploads', key: caskade.key, rows: eventsPerUpload, prefix: nextPrefix() },
				uploadsPerSecond,
			),
		]);
		loaded.push(reading);
		writes.push(...writing);
		progress(
			`reads under load, run ${run} of ${options.runs}: ${load}: p50 ${ms(reading.p50Ms)}, p99 ${ms(reading.p99Ms)}, alone ${ms(alone.at(-1)?.p99Ms ?? 0)}; of that the load generator's own delay (p99) ${ms(reading.generatorDelayP99Ms)}; hits p99 ${ms(writing[0]?.p99Ms ?? 0)}, uploads p99 ${ms(writing[1]?.p99Ms ?? 0)}`,
		);
	}
	await server.stop();
	const wrong = [...alone, ...loaded, ...writes].reduce((sum, { unexpected }) => sum + unexpected, 0);
	if (wrong > 0) throw new Error(`reads-under-load: ${wrong} answers have an unexpected status.`);
	const p99Ms = median(loaded.map((result) => result.p99Ms));
	const row = (name: string, of: (result: OpenLoopResult) => number): Row => ({
		measure: `GET /visscores, ${whole(readsPerSecond)}/s, beside ${load}: ${name}`,
		caskade: ms(median(loaded.map(of))),
		baseline: ms(median(alone.map(of))),
		comparedWith: 'itself, reads alone',
		ratio: '',
		aim: '',
		result: '',
	});
	return {
		rows: [
			row('p50', (result) => result.p50Ms),
			{ ...row('p99', (result) => result.p99Ms), aim: `under ${aimMs} ms`, result: verdict(p99Ms < aimMs) },
		],
		notes: [
			`reads-under-load: ${whole(visitors)} visitors; measured from the time a request was due. The p99 of the load generator's own delay is ${ms(median(loaded.map((result) => result.generatorDelayP99Ms)))}.`,
		],
	};
}
