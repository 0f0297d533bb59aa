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
