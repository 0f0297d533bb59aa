import { readlinkSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { OperatorError } from '../errors.ts';
import { trainAccount } from '../scoring/account-training.ts';
import { openStore } from '../store/open.ts';
import type { Store } from '../store/store.ts';
import { runScheduledTraining } from './scheduled-training.ts';
import type { TrainingMessage, TrainingRequest } from './training-messages.ts';

/** The thread that trains. It opens the databases itself, like a command that runs beside the server. */

if (!parentPort) throw new Error('this file is the training thread');
const port = parentPort;
const { database, stage, job } = workerData as TrainingRequest;
const send = (message: TrainingMessage) => port.postMessage(message);
const scheduledSeed = 1;

/**
 * Gives the serving threads priority. A busy server still lets training finish. On Linux each thread has its own
 * priority; elsewhere nothing changes.
 */
function yieldToServing(): void {
	try {
		const [, threadId] = /\/task\/(\d+)$/.exec(readlinkSync('/proc/thread-self')) ?? [];
		if (threadId !== undefined) setPriority(Number(threadId), constants.priority.PRIORITY_BELOW_NORMAL);
	} catch {}
}

async function trainOnce(store: Store, { aid, goal, asOfMs, isOfNow, seed }: typeof job & { type: 'once' }) {
	const account = await store.control.account(aid);
	const goals = await store.control.goals(account.id);
	const chosen = goals.filter(({ name }) => goal === undefined || name === goal);
	if (goal !== undefined && chosen.length === 0)
		throw new OperatorError(`The account has no goal ${goal}; 'caskade goal list ${aid}' shows all.`);
	return trainAccount(store, {
		...{ account, goals: chosen, asOfMs, isOfNow, seed, keepsChoice: false },
		onProgress: (progress) => send({ type: 'progress', progress }),
	});
}

const store = await openStore(database, { stage, mustExist: true });
try {
	if (job.type === 'once') send({ type: 'done', trained: await trainOnce(store, job) });
	else {
		yieldToServing();
		await runScheduledTraining(store, {
			...{ everyMs: job.everyMs, seed: scheduledSeed, now: store.now },
			report: (report) => send({ type: 'round', report }),
			signal: new AbortController().signal,
		});
	}
} finally {
	await store.close();
}
