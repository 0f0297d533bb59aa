import { workerData } from 'node:worker_threads';
import { collectGarbage } from '../../core/garbage.ts';
import { Folder, foldingWaiting } from '../../core/jobs/folding-job.ts';
import type { BackgroundPart, BackgroundPlace } from '../../kit/jobs/background-part.ts';
import { log, serveThread, tell } from '../../kit/jobs/in-thread.ts';
import { capabilities } from '../capabilities.ts';
import { openStore } from '../open-store.ts';
import './assemble-compute.ts';
import type { BackgroundData, FromBackground, ToBackground } from './thread-messages.ts';

/** The thread of all background work. It opens the databases itself, like a command that runs beside the server. */

const { place, work } = workerData as BackgroundData;
const stopping = new AbortController();
const { signal } = stopping;
const store = await openStore(place.database, { ...place, mustExist: true });
const at: BackgroundPlace = {
	store,
	place,
	work,
	log,
	signal,
	count: (counted) => tell({ counted } satisfies FromBackground),
	show: (level, amount) => tell({ level, amount } satisfies FromBackground),
};
const parts = new Map<string, BackgroundPart>();
const folder = new Folder(store, {
	log,
	signal,
	onWaiting: (amount) => at.show(foldingWaiting.name, amount),
	async resume(accountId) {
		for (const part of parts.values()) await part.resume?.(accountId);
	},
});

let folding: Promise<void> | undefined;
/** What was sent before all parts were loaded waits. */
const loading = Promise.all(
	capabilities.map(async ({ name, jobs }) => {
		const part = await jobs?.background?.(at);
		if (part) parts.set(name, part);
	}),
);
serveThread(
	async (message: ToBackground) => {
		if (message.type === 'fold') return folder.wake(message.accountId);
		await loading;
		return parts.get(message.to)?.receive?.(message.message as never);
	},
	async () => {
		stopping.abort();
		await loading;
		const ending = [...parts.values()].flatMap(({ running, end }) => [running, end?.()]);
		await Promise.all([folding, ...ending]);
		await store.close();
	},
);
await loading;
if (work.followsLog) folding = folder.run();
collectGarbage();
