import { readdirSync, readFileSync } from 'node:fs';

/** The CPU time that each of these processes uses meanwhile, with its children, in microseconds. */
export async function cpuDuring<Result>(
	pids: readonly number[],
	work: () => Promise<Result>,
): Promise<{ result: Result; usedUs: number[] }> {
	const before = pids.map(cpuTimes);
	const result = await work();
	const after = pids.map(cpuTimes);
	return { result, usedUs: after.map((times, index) => between(before[index] as CpuTimes, times)) };
}

type CpuTimes = ReadonlyMap<number, number>;

/** Of a process and its children, all threads. */
function cpuTimes(pid: number): CpuTimes {
	const pids = [pid, ...threadsOf(pid).flatMap((thread) => childrenOf(pid, thread))];
	return new Map(pids.map((each) => [each, cpuUs(each)]));
}

/** Threads of the service by what they do; the others are the runtime's own. */
const jobs: Readonly<Record<string, string>> = {
	'node-MainThread': 'serving',
	serving: 'serving',
	writer: 'writing',
	'control-writer': 'writing',
	checkpointer: 'checkpointing',
};

/** The CPU time of a service's threads so far, in microseconds, by what they do. */
export function cpuByJob(pid: number): Map<string, number> {
	const used = new Map<string, number>();
	for (const thread of threadsOf(pid)) {
		const folder = `/proc/${pid}/task/${thread}`;
		const job = jobs[readFileSync(`${folder}/comm`, 'utf8').trim().replace(/-\d+$/, '')] ?? 'runtime';
		const us = Number(readFileSync(`${folder}/schedstat`, 'utf8').split(' ')[0]) / 1000;
		used.set(job, (used.get(job) ?? 0) + us);
	}
	return used;
}

/** As `serving 20.1 µs, writing 15.2 µs`, of a request. */
export function describeSplit(
	before: ReadonlyMap<string, number>,
	after: ReadonlyMap<string, number>,
	requests: number,
): string {
	const each = (job: string, us: number) =>
		`${job} ${((us - (before.get(job) ?? 0)) / requests).toFixed(1)} µs`;
	return [...after].map(([job, us]) => each(job, us)).join(', ');
}

/** Of a child that has ended meanwhile, nothing is known. */
function between(before: CpuTimes, after: CpuTimes): number {
	return [...after].reduce((sum, [pid, us]) => sum + us - (before.get(pid) ?? 0), 0);
}

function threadsOf(pid: number): string[] {
	return readdirSync(`/proc/${pid}/task`);
}

function childrenOf(pid: number, thread: string): number[] {
	const children = readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').trim();
	return children === '' ? [] : children.split(' ').map(Number);
}

function cpuUs(pid: number): number {
	let us = 0;
	try {
		// The first number of schedstat is nanoseconds on a CPU; /proc/PID/stat counts in steps of 10 ms.
		for (const thread of threadsOf(pid))
			us += Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]) / 1000;
	} catch {
		// A child or a thread that has just ended.
	}
	return us;
}
