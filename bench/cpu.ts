import { readdirSync, readFileSync } from 'node:fs';

/** Runs `work` and measures the CPU time in microseconds that each process and its children use meanwhile. */
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

/** CPU time in microseconds, of all threads, by pid: of a process and each of its children. */
function cpuTimes(pid: number): CpuTimes {
	const pids = [pid, ...threadsOf(pid).flatMap((thread) => childrenOf(pid, thread))];
	return new Map(pids.map((each) => [each, cpuUs(each)]));
}

/** CPU time of a process' children that have ended, in microseconds, to within 10 ms. */
export const endedChildrenUs = (pid: number) => statedUs(pid, 13);

/** CPU time of a process and of all its threads, those that have ended too, in microseconds, to within 10 ms. */
export const processUs = (pid: number) => statedUs(pid, 11);

function statedUs(pid: number, first: number): number {
	const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
	return (Number(fields[first]) + Number(fields[first + 1])) * 10_000;
}

/** The work of the service's threads, by thread name. All other threads belong to the runtime. */
const jobs: Readonly<Record<string, string>> = {
	'node-MainThread': 'serving',
	serving: 'serving',
	writer: 'writing',
	checkpointer: 'checkpointing',
};

/** CPU time of the service's threads so far, in microseconds, grouped by their work. */
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

/** CPU time per request by kind of work, for example `serving 20.1 µs, writing 15.2 µs`. */
export function describeSplit(
	before: ReadonlyMap<string, number>,
	after: ReadonlyMap<string, number>,
	requests: number,
): string {
	const each = (job: string, us: number) =>
		`${job} ${((us - (before.get(job) ?? 0)) / requests).toFixed(1)} µs`;
	return [...after].map(([job, us]) => each(job, us)).join(', ');
}

/** Ignores children that have ended: their CPU time is no longer readable. */
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
		// The first number in schedstat is CPU time in nanoseconds. /proc/PID/stat has a resolution of only 10 ms.
		for (const thread of threadsOf(pid))
			us += Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]) / 1000;
	} catch {
		// The child or thread has just ended.
	}
	return us;
}
