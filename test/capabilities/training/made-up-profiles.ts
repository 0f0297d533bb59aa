import { train } from '../../../src/capabilities/training/judge/train.ts';
import type { TrainingReport } from '../../../src/capabilities/training/judge/training-report.ts';
import { DatasetBuilder } from '../../../src/capabilities/training/rows/dataset.ts';
import { profileFeatures } from '../../../src/capabilities/training/rows/vocabulary.ts';
import { type LogEntry, type Profile, profileOf } from '../../../src/core/domain/profile.ts';
import { dayMs, minuteMs } from '../../../src/core/durations.ts';
import { logistic } from '../../../src/core/scoring/model/log-odds.ts';
import type { Model } from '../../../src/core/scoring/model/model.ts';
import type { FeatureSet } from '../../../src/core/scoring/rows/features.ts';
import { profileRows } from '../../../src/core/scoring/rows/profile-features.ts';
import { seededRandom } from '../../../src/kit/random.ts';
import { hit, startMs, subscription } from '../../core/domain/log.ts';
import { once } from './once.ts';

const names = { page: ['pricing', '/'], channel: ['email', 'direct'], event: ['play'], evt: ['trial'] };
const all = profileFeatures(names);
/** Few features, so that training is quick. */
const learned =
	/^(hits|recentHits7d|visits|recentVisits7d|activeDays|daysSince.*|differentPages30d|subscriptions|revenuePence|.*:.*|lastChannel|lastPage|landingPage|lastEvt)$/;

export const madeUpFeatures: FeatureSet = {
	numeric: all.numeric.filter(({ name }) => learned.test(name)),
	categorical: all.categorical.filter(({ name }) => learned.test(name)),
};

/** A generated visitor's log, and the current time: visits, channels, pages, events, subscription events. */
export function madeUpVisitor(random: () => number): { log: LogEntry[]; nowMs: number } {
	const log: LogEntry[] = [];
	let atMs = startMs;
	const visits = 1 + Math.floor(-Math.log(1 - random()) * 2);
	for (let visit = 0; visit < visits; visit++) {
		const sid = `${visit}`.padStart(32, '0');
		const channel = ['email', 'direct', 'paid search', 'social'][Math.floor(random() * 4)] as string;
		for (let hits = Math.ceil(random() * 4); hits > 0; hits--) {
			const page = ['pricing', '/', 'blog', 'docs', 'about'][Math.floor(random() ** 0.7 * 5)] as string;
			log.push(hit(atMs, { sid, channel, page, events: random() < 0.1 ? ['play'] : [] }));
			atMs += Math.ceil(random() * 10 * minuteMs);
		}
		if (random() < 0.1)
			log.push(subscription(atMs, { evt: 'trial', subid: `${visit}`, tid: `${visit}`, revenuePence: 499 }));
		atMs += Math.ceil(random() * 5 * dayMs);
	}
	return { log, nowMs: atMs };
}

/**
 * Visitors convert more often if they viewed pricing, come by email or were active recently; with an interaction, only
 * by email.
 */
export function logOddsOf(profile: Profile, nowMs: number, interaction: boolean): number {
	const pricing = profile.pageTimes.some(([page]) => page === 'pricing') ? 1 : 0;
	const email = profile.lastChannel === 'email' ? 1 : 0;
	const days = (nowMs - profile.lastAtMs) / dayMs;
	if (interaction) return -2 + 4 * pricing * email - 3 * pricing * (1 - email) + Math.log(profile.hits);
	return -2.5 + 1.5 * pricing + 1.2 * email - 0.3 * days + 0.5 * Math.log(profile.visits);
}

/** A model trained on generated visitors; the same on every run. */
export function trainedOnVisitors(kind: 'logistic' | 'boosting'): { model: Model; report: TrainingReport } {
	return once(`trained-on-visitors-${kind}`, () => {
		const random = seededRandom(7);
		const dataset = new DatasetBuilder(madeUpFeatures);
		const rowOf = profileRows(madeUpFeatures);
		for (let row = 0; row < 1500; row++) {
			const { log, nowMs } = madeUpVisitor(random);
			const profile = profileOf(log) as Profile;
			const label = random() < logistic(logOddsOf(profile, nowMs, kind === 'boosting')) ? 1 : 0;
			dataset.add({ ...rowOf(profile, nowMs), label, atMs: row * 1000 });
		}
		return train(dataset.build(), { seed: 1 });
	});
}
