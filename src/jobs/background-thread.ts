import { randomUUID } from 'node:crypto';
import { parentPort, workerData } from 'node:worker_threads';
import { hourMs } from '../durations.ts';
import { reasonOf } from '../errors.ts';
import { collectGarbage } from '../garbage.ts';
import { keepServedScores, type ServedScore } from '../store/account/served-scores.ts';
import { openStore } from '../store/open.ts';

import { Folder } from './folding.ts';
import { runKeptDays } from './kept-days.ts';
import type { BackgroundData, FromBackground, ToBackground } from './messages.ts';
import { runRetention } from './retention.ts';
import type { TrainedSummary } from './scheduled-training.ts';
import type { WebhookJob } from './webhooks.ts';

/** The thread of all background work. It opens the databases itself, like a command that runs beside the server. */

if (!parentPort) throw new Error('this file is the background thread');
const port = parentPort;
const { place, work, hasWebhooks } = workerData as BackgroundData;
const stopping = new AbortController();
const stopped = Promise.withResolvers<void>();
const { signal } = stopping;
const send = (message: FromBackground) => port.postMessage(message);

const store = await openStore(place.database, { ...place, mustExist: true });
const folder = new Folder(store, { report: (report) => send({ job: 'folding', ...report }), signal });
const running: Promise<void>[] = [];
let webhooks: Promise<WebhookJob> | undefined;
let training: PromiseWithResolvers<readonly TrainedSummary[]> | undefined;

/** Loaded and started with the first webhook: most installations have none. */
function startWebhooks(): Promise<WebhookJob> {
	webhooks ??= (async () => {
		const { WebhookJob } = await import('./webhooks.ts');
		const { AccessDirectory } = await import('../access/directory.ts');
		const { scorerOf } = await import('../scoring/serve/visitor-scorer.ts');
		const onError = (error: unknown) => send({ job: 'webhooks', type: 'error', reason: reasonOf(error) });
		const directory = await AccessDirectory.load(store.control, onError);
		const reader = store.startReading();
		const job = new WebhookJob({
			store,
			directory,
			holder: randomUUID(),
			signal,
			scorer: scorerOf(store, { reader, now: store.now, onError }),
			report: (report) => send({ job: 'webhooks', ...report }),
		});
		running.push(
			job.run().then(async () => {
				await directory.stop();
				await reader.close();
			}),
		);
		return job;
	})();
	return webhooks;
}

async function keepScores(): Promise<void> {
	const { runScheduledTraining } = await import('./scheduled-training.ts');
	await runScheduledTraining(store, {
		everyMs: work.trainEveryMs,
		now: store.now,
		report: (report) => send({ job: 'scores', ...report }),
		signal,
		async train({ aid }, asOfMs) {
			// Nobody would answer any more.
			if (signal.aborted) return [];
			training = Promise.withResolvers();
			send({ job: 'training', aid, asOfMs });
			return training.promise;
		},
	});
}

/** One batch after another. What cannot be kept is missing from the sample. */
let keeping = Promise.resolve();
function keepServed(accountId: number, scores: readonly ServedScore[]): void {
	keeping = keeping
		.then(() => store.transact(accountId, () => keepServedScores(scores)))
		.catch(async (error) => {
			if (await store.control.isAccountInUse(accountId).catch(() => false))
				send({ job: 'scores', type: 'error', reason: `served scores are not kept: ${reasonOf(error)}` });
		});
}

async function receive(message: ToBackground): Promise<void> {
	if (message.type === 'fold') folder.wake(message.accountId);
	else if (message.type === 'served') keepServed(message.accountId, message.scores);
	else if (message.type === 'webhooks') await startWebhooks();
	else if (message.type === 'changed') {
		const job = await startWebhooks();
		for (const accountId of message.accountIds) job.wake(accountId);
	} else if (message.type === 'trained') training?.resolve(message.trained);
	else if (message.type === 'not trained') training?.reject(new Error(message.reason));
	else {
		stopping.abort();
		training?.resolve([]);
		stopped.resolve();
	}
}

// Whatever is not caught ends the thread, which is then started again.
port.on('message', (message: ToBackground) => void receive(message));
if (work.followsLog)
	running.push(
		folder.run(),
		runKeptDays(store, { report: (report) => send({ job: 'days', ...report }), signal }),
	);
if (work.keepHitsDays !== undefined)
	running.push(
		runRetention(store, {
			keepHitsDays: work.keepHitsDays,
			keepTouches: work.keepTouches ?? false,
			everyMs: hourMs,
			now: store.now,
			report: (report) => send({ job: 'retention', ...report }),
			signal,
		}),
	);
if (work.keepsScores) running.push(keepScores());
if (hasWebhooks) await startWebhooks();
collectGarbage();
await stopped.promise;
await webhooks;
await Promise.all(running);
await keeping;
await store.close();
port.close();
