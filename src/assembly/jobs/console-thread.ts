import { workerData } from 'node:worker_threads';
import { AccessDirectory } from '../../core/access/directory.ts';
import { monotonicMs } from '../../core/clock.ts';
import type { ConsoleRequest } from '../../kit/console/exchange.ts';
import { compute } from '../../kit/jobs/compute.ts';
import { log, serveThread } from '../../kit/jobs/in-thread.ts';
import { yieldToServing } from '../../kit/jobs/yield-to-serving.ts';
import { consoleParts } from '../capabilities.ts';
import { createConsole } from '../console/console.ts';
import { openStore } from '../open-store.ts';
import './assemble-compute.ts';
import type { ConsoleData } from './thread-messages.ts';

/** The thread of the console. It opens the databases itself, and makes reports on a thread of theirs. */

yieldToServing();
const { place, entrance } = workerData as ConsoleData;
const onError = (error: unknown, path: string) => {
	const cause = error instanceof Error ? (error.stack ?? error.message) : String(error);
	log.error({ path, cause }, 'a page of the console failed');
};

const store = await openStore(place.database, { ...place, mustExist: true });
const directory = await AccessDirectory.load(store.control, (error) => onError(error, 'control database'));
const pages = createConsole({
	store,
	directory,
	monotonicMs,
	onError,
	now: store.now,
	...entrance,
	parts: await consoleParts(),
	compute: (job, options) => compute(place, { ...job, isInBackground: true } as never, options),
});

serveThread(
	(request: ConsoleRequest) => pages.answer(request),
	async () => {
		pages.stop();
		await directory.stop();
		await store.close();
	},
);
