import { readFileSync } from 'node:fs';
import type { Bench, Line, LineResult } from './line.ts';
import { quietMetrics } from './metrics.ts';
import { manyRows } from './rows.ts';
import { upload } from './servers.ts';
import { whole } from './table.ts';
import { wrk } from './wrk.ts';

/** A slow machine stops storing after so long and says how far it came. */
const maxSeconds = 150;

/** What the server's memory grows to when much has been stored. */
export const memory: Line = { name: 'memory', measure };

async function measure({ options, caskade, progress }: Bench): Promise<LineResult> {
	const server = await caskade.serve();
	await upload(server.url, caskade.key, manyRows);
	const atStart = memoryMiB(server.pid, 'VmRSS');
	const startedAtMs = performance.now();
	let events = await server.place.countEvents();
	for (let seconds = 1; seconds > 0; ) {
		await wrk(server.url, { rows: manyRows, key: caskade.key, tids: 'rising' }, seconds);
		events = (await quietMetrics(server.metricsUrl)).eventsStored;
		const elapsed = (performance.now() - startedAtMs) / 1000;
		progress(`memory: ${whole(events)} events, ${whole(memoryMiB(server.pid, 'VmRSS'))} MiB`);
		const secondsLeft = Math.min((options.events - events) / (events / elapsed), maxSeconds - elapsed);
		seconds = Math.min(10, Math.ceil(secondsLeft));
	}
	const resident = memoryMiB(server.pid, 'VmRSS');
	const peak = memoryMiB(server.pid, 'VmHWM');
	const stored = await server.place.countEvents();
	if (stored !== events) throw new Error(`memory: ${stored} events are in the database, not ${events}.`);
	await server.stop();
	return {
		rows: [
			{
				measure: `resident memory after ${whole(events)} events`,
				caskade: `${whole(resident)} MiB`,
				ceiling: `${whole(atStart)} MiB`,
				of: 'itself, after its first event',
				ratio: '',
				aim: '',
				result: '',
			},
		],
		notes: [`memory: at most ${whole(peak)} MiB at any time.`],
	};
}

/** As Linux counts it. */
export function memoryMiB(pid: number, field: 'VmRSS' | 'VmHWM'): number {
	const [, kibibytes] =
		new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
	return Number(kibibytes) / 1024;
}
