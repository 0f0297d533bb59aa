import { closeSync, fdatasyncSync, openSync, rmSync, writeSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, totalmem } from 'node:os';
import { join } from 'node:path';
import { median } from './table.ts';

/** The hardware and software that the figures depend on, so that machines can be compared. */
export function describeMachine(folder: string): string {
	const memoryGiB = (totalmem() / 2 ** 30).toFixed(0);
	const [load = 0] = loadavg();
	return [
		`${availableParallelism()} cores, ${cpus()[0]?.model ?? 'unknown CPU'}, ${memoryGiB} GiB, ${process.platform}`,
		`Node ${process.versions.node}, SQLite ${process.versions.sqlite}`,
		`a write of 4 KiB is durable after ${flushMs(folder).toFixed(2)} ms in ${folder}`,
		`load average ${load.toFixed(2)} before the benchmark`,
	].join('\n');
}

function flushMs(folder: string): number {
	const path = join(folder, 'flush');
	const page = Buffer.alloc(4096, 1);
	const file = openSync(path, 'w');
	const times = Array.from({ length: 50 }, () => {
		const startedAtMs = performance.now();
		writeSync(file, page);
		fdatasyncSync(file);
		return performance.now() - startedAtMs;
	});
	closeSync(file);
	rmSync(path);
	return median(times);
}
