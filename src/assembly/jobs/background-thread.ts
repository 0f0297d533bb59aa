import { randomUUID } from 'node:crypto';
import { workerData } from 'node:worker_threads';
import { runKeptDays } from '../../capabilities/reports/jobs/kept-days.ts';
import { runScheduledTraining } from '../../capabilities/training/jobs/scheduled-training.ts';
import { keepServedScores, type ServedScore } from '../../capabilities/training/store/served-scores.ts';
import { runRetention } from '../../capabilities/upkeep/jobs/retention.ts';
import { runSharedKeys } from '../../capabilities/upkeep/jobs/shared-keys.ts';
import { countMissing } from '../../capabilities/visitors/store/erasing-again.ts';
import { resumeErasure } from '../../capabilities/visitors/store/erasure.ts';
import type { WebhookJob } from '../../capabilities/webhooks/jobs/webhooks.ts';
import { hourMs } from '../../core/durations.ts';
import { reasonOf } from '../../core/errors.ts';
import { collectGarbage } from '../../core/garbage.ts';
import { Folder } from '../../core/jobs/folding.ts';
import { compute } from '../../kit/jobs/compute.ts';
import { log, serveThread, tell } from '../../kit/jobs/in-thread.ts';
import { openStore } from '../open.ts';
import type { BackgroundData, Counted, FromBackground, Level, ToBackground } from './messages.ts';

/** The thread of all background work. It opens the databases itself, like a command that runs beside the server. */

/** The same model comes from the same history, whenever it is trained. */
const scheduledSeed = 1;

const { place, work, hasWebhooks } = workerData as BackgroundData;
const stopping = new AbortController();
const { signal } = stopping;
const count = (counted: Counted) => tell({ counted } satisfies FromBackground);
const show = (level: Level) => (amount: number) => tell({ level, amount } satisfies FromBackground);

const store = await openStore(place.database, { ...place, mustExist: true });
const { now } = store;
const folder = new Folder(store, {
	log,
	signal,
	onWaiting: show('foldingWaiting'),
	resume: (accountId) => resumeErasure(store, accountId),
});
const running: Promise<void>[] = [tellMissingErasures()];
let webhooks: Promise<WebhookJob> | undefined;

/** Who forgets to erase again after a restore reads it in the log of the start. */
async function tellMissingErasures(): Promise<void> {
	const erasures = await countMissing(store).catch(() => 0);
	if (erasures > 0) log.warn({ erasures }, "erasures are missing: run 'caskade visitor erase-again'");
}

/** Loaded and started with the first webhook: most installations have none. */
function startWebhooks(): Promise<WebhookJob> {
	webhooks ??= (async () => {
		const { WebhookJob } = await import('../../capabilities/webhooks/jobs/webhooks.ts');
		const { AccessDirectory } = await import('../../core/access/directory.ts');
		const { scorerOf } = await import('../../core/scoring/serve/visitor-scorer.ts');
		const onError = (error: unknown) => log.error({ reason: reasonOf(error) }, 'webhooks failed');
		const directory = await AccessDirectory.load(store.control, onError);
		const reader = store.startReading();
		const scorer = scorerOf(store, { reader, now, onError });
		const job = new WebhookJob({ store, directory, holder: randomUUID(), signal, scorer, log, count });
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

/** One batch after another. What cannot be kept is missing from the sample. */
let keeping = Promise.resolve();
function keepServed(accountId: number, scores: readonly ServedScore[]): void {
	keeping = keeping
		.then(() => store.transact(accountId, () => keepServedScores(scores)))
		.catch(async (error) => {
			if (await store.control.isAccountInUse(accountId).catch(() => false))
				log.error({ reason: `served scores are not kept: ${reasonOf(error)}` }, 'training failed');
		});
}

const train = ({ aid }: { readonly aid: string }, asOfMs: number) => {
	const job = { type: 'training', aid, asOfMs, isOfNow: true, seed: scheduledSeed } as const;
	return compute(place, { ...job, keepsChoice: true, isInBackground: true }, { signal });
};

serveThread(
	async (message: ToBackground) => {
		if (message.type === 'fold') folder.wake(message.accountId);
		else if (message.type === 'served') keepServed(message.accountId, message.scores);
		else {
			const job = await startWebhooks();
			if (message.type === 'changed') for (const accountId of message.accountIds) job.wake(accountId);
		}
	},
	async () => {
		stopping.abort();
		await webhooks;
		await Promise.all(running);
		await keeping;
		await store.close();
	},
);
if (work.followsLog)
	running.push(folder.run(), runKeptDays(store, { log, signal }), runSharedKeys(store, { log, signal }));
const { keepHitsDays, keepTouches = false, trainEveryMs: everyMs } = work;
if (keepHitsDays !== undefined)
	running.push(runRetention(store, { keepHitsDays, keepTouches, everyMs: hourMs, now, log, signal }));
if (work.keepsScores)
	running.push(
		runScheduledTraining(store, { everyMs, now, log, signal, train, onBroken: show('promisesBroken') }),
	);
if (hasWebhooks) await startWebhooks();
collectGarbage();
