import { RequestCounter } from '../../core/access/request-counter.ts';
import { dayMs } from '../../core/durations.ts';
import type { Account } from '../../core/store/control/control-store.ts';
import type { Store } from '../../core/store/store.ts';
import { drawOf } from '../experiments/domain/draw.ts';
import type { Experiment } from '../experiments/store/experiment.ts';
import type { DemoEntry } from './entry.ts';
import { isWelcomed } from './stream.ts';

const name = 'welcome-back';
/** Visitors who come back, whom the shop welcomed. */
const segmentId = 'returning';
/** Of the days of the first run, the last. */
const share = 0.4;
/** Of visitors who came back, those of whom a page asked for the segments. */
const readShare = 0.95;

/**
 * The account's experiment, which the first run adds: half of the visitors who came back were welcomed, until the end of that run.
 * @returns undefined where the account has other experiments, or not what the experiment is about
 */
export async function demoExperiment(
	{ control }: Pick<Store, 'control'>,
	{ id }: Account,
	{ days, untilMs }: { readonly days: number; readonly untilMs: number },
): Promise<Experiment | undefined> {
	const experiments = await control.experiments(id);
	if (experiments.length > 0) return experiments.find((one) => one.name === name);
	const segment = (await control.segments(id)).find((one) => one.id === segmentId);
	const goal = (await control.goals(id)).find((one) => one.name === 'subscription');
	if (!segment || !goal) return undefined;
	// From the beginning of a day, as of which a model can be trained.
	const fromMs = Math.floor((untilMs - share * days * dayMs) / dayMs) * dayMs;
	return control.createExperiment(id, {
		name,
		segment: segment.id,
		rule: segment.rule,
		goal: goal.name,
		holdoutPercent: 50,
		fromMs,
		toMs: untilMs,
	});
}

/** Whether a visitor's id is drawn for the group for which the history is made up. */
export function isInGroup(experiment: Experiment, seed: number, visitor: number, vid: string): boolean {
	return (drawOf(experiment, vid).group === 'treated') === isWelcomed(seed, visitor);
}

/** Counts most visitors who came back as having been asked about, as a server does. */
export async function countReads(
	{ control }: Pick<Store, 'control'>,
	accountId: number,
	experiment: Experiment,
	{ entries, vids }: { readonly entries: readonly DemoEntry[]; readonly vids: ReadonlyMap<number, string> },
): Promise<void> {
	const { fromMs, toMs } = experiment;
	const back = new Set(
		entries
			.filter((entry) => entry.type === 'hit' && entry.visit > 0 && entry.atMs >= fromMs)
			.filter(({ atMs }) => atMs < (toMs ?? Number.POSITIVE_INFINITY))
			.map(({ visitor }) => visitor),
	);
	const counter = new RequestCounter(
		({ experimentReads = [] }) => control.recordExperimentReads(experimentReads),
		(error) => {
			throw error;
		},
	);
	for (const visitor of [...back].slice(0, Math.round(readShare * back.size)))
		counter.readExperiment(accountId, experiment, drawOf(experiment, vids.get(visitor) as string));
	await counter.stop();
}
