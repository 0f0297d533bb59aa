import { readlinkSync } from 'node:fs';
import { constants, setPriority } from 'node:os';

/** Gives requests priority over this thread. On Linux each thread has its own priority; elsewhere nothing changes. */
export function yieldToServing(): void {
	try {
		const [, threadId] = /\/task\/(\d+)$/.exec(readlinkSync('/proc/thread-self')) ?? [];
		if (threadId !== undefined) setPriority(Number(threadId), constants.priority.PRIORITY_BELOW_NORMAL);
	} catch {}
}
