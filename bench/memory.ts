import { readFileSync } from 'node:fs';
import type { BenchContext, Benchmark, BenchmarkResult } from './benchmark.ts';
import { idleMetrics } from './metrics.ts';
import { upload } from './servers.ts';
import { whole } from './table.ts';
import { eventsPerUpload } from './upload-bodies.ts';
import { wrk } from './wrk.ts';

/** Storing stops after this time, even if a slow machine has not stored all events by then. */
const maxSeconds = 150;

/** Resident memory of the server after many events were stored. */
export const memory: Benchmark = { name: 'memory', measure };

async function measure({ options, caskade, progress }: BenchContext): Promise<BenchmarkResult> {
	const server = await caskade.serve();
	await upload(server.url, caskade.key, eventsPerUpload);
	const atStart = memoryMiB(server.pid, 'VmRSS');
	const startedAtMs = performance.now();
	let events = await server.database.countEvents();
	for (let seconds = 1; seconds > 0; ) {
		await wrk(server.url, { rows: eventsPerUpload, key: caskade.key, tids: 'rising' }, seconds);
		events = (await idleMetrics(server.metricsUrl)).eventsStored;
		const elapsed = (performance.now() - startedAtMs) / 1000;
		progress(`memory: ${whole(events)} events, ${whole(memoryMiB(server.pid, 'VmRSS'))} MiB`);
		const secondsLeft = Math.min((options.events - events) / (events / elapsed), maxSeconds - elapsed);
		seconds = Math.min(10, Math.ceil(secondsLeft));
	}
	const resident = memoryMiB(server.pid, 'VmRSS');
	const peak = memoryMiB(server.pid, 'VmHWM');
	const stored = await server.database.countEvents();
	if (stored !== events)
		throw new Error(`memory: ${stored} events are in the database, but the server counted ${events}.`);
	await server.stop();
	return {
		rows: [
			{
				measure: `resident memory after ${whole(events)} events`,
				caskade: `${whole(resident)} MiB`,
				baseline: `${whole(atStart)} MiB`,
				comparedWith: 'itself, after its first event',
				ratio: '',
				aim: '',
				result: '',
			},
		],
		notes: [`memory: the peak was ${whole(peak)} MiB.`],
	};
}

/** Resident memory now (`VmRSS`) or at its peak (`VmHWM`), from /proc. */
export function memoryMiB(pid: number, field: 'VmRSS' | 'VmHWM'): number {
	const [, kibibytes] =
		new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
	return Number(kibibytes) / 1024;
}
