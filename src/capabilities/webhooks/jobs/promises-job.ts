import { horizonMsOf } from '../../../core/domain/goal.ts';
import { dayMs, hourMs } from '../../../core/durations.ts';
import type { Account } from '../../../core/store/control/control-store.ts';
import type { Store } from '../../../core/store/store.ts';
import type { BackgroundPlace } from '../../../kit/jobs/background-part.ts';
import { accountsInUse, forEachAccount, Histories, repeatedly } from '../../../kit/jobs/each-account.ts';
import { historyReader } from '../../../kit/reading/histories.ts';
import { calendarOf } from '../../../kit/reports/calendar.ts';
import { failingTraining } from '../../training/jobs/score-upkeep.ts';
import { allWeeks, comparePromises, type PromiseRow } from '../../training/reports/promise-comparison.ts';
import {
	keepFigure,
	keptFigures,
	pruneServedScores,
	servedScores,
} from '../../training/store/served-scores.ts';
import { messagesTo } from '../message.ts';
import { insertMessages } from '../store/outbox.ts';
import { promisesBroken } from './promises-broken.ts';

/** A goal whose scores have left their bounds in each of the two latest weeks that are over. */
export interface BrokenPromise {
	readonly goal: string;
	/** Earliest first. */
	readonly weeks: readonly Omit<PromiseRow, 'goal' | 'band' | 'waiting'>[];
}

/** Half a year of weeks. */
const keptMs = 182 * dayMs;
/** How long after the end of a week and the horizon its outcomes are taken for known: uploads arrive in the night. */
const lateMs = 12 * hourMs;
/** Earlier days have been reduced to what is kept of a day. */
const settledMs = 2 * dayMs;

/** Pause between two comparisons of an account. */
const everyMs = 6 * hourMs;
/** Interval between checks whether an account is due. */
const roundMs = 60_000;

/** Compares served scores with what came, and tells of promises that are not kept, until the signal is aborted. */
export function runPromises({
	store,
	log,
	signal,
	show,
}: Pick<BackgroundPlace, 'log' | 'signal' | 'show'> & { readonly store: Store }): Promise<void> {
	/** The last comparison, by account id. */
	const followed = new Map<number, { atMs: number; broken: readonly string[] }>();
	const histories = new Histories(store);
	return repeatedly(signal, async () => {
		const nowMs = store.now();
		const nothing = { atMs: nowMs, broken: [] };
		const accounts = accountsInUse(store).then(async (all) => {
			const due = all.filter((id) => Math.abs(nowMs - (followed.get(id)?.atMs ?? 0)) >= everyMs);
			const live = new Set(await histories.among(due));
			// There is nothing to compare for days after the first hit.
			for (const id of due) if (!live.has(id)) followed.set(id, nothing);
			return [...live];
		});
		await forEachAccount(store, accounts, failingTraining(log, signal), async (id) => {
			const last = followed.get(id);
			const account = await histories.accountOf(id);
			if (!account) {
				followed.set(id, nothing);
				return;
			}
			await pruneServed(store, id, nowMs);
			const broken = (await followPromises(store, account, nowMs)).map(({ goal }) => goal);
			followed.set(id, { atMs: nowMs, broken });
			if (broken.some((goal) => !last?.broken.includes(goal)))
				log.warn(
					{ aid: account.aid, goals: broken },
					'predicted and observed rates differed in two consecutive weeks',
				);
			show(
				promisesBroken.name,
				followed.values().reduce((sum, one) => sum + one.broken.length, 0),
			);
		});
		return roundMs;
	});
}

/** Deletes what is no longer kept of an account's served scores. */
export async function pruneServed(store: Store, accountId: number, nowMs: number): Promise<void> {
	const prune = () => pruneServedScores(nowMs - keptMs, nowMs - settledMs);
	while ((await store.transact(accountId, prune)) > 0);
}

/** Finds goals that broke their promises two weeks running, and tells webhooks once when they begin to. */
export async function followPromises(
	store: Store,
	account: Account,
	nowMs: number,
): Promise<readonly BrokenPromise[]> {
	const calendar = calendarOf(account.timezone);
	const goals = await store.control.goals(account.id);
	const webhooks = (await store.control.webhooks(account.id)).filter(({ disabledAt }) => disabledAt === null);
	const broken: BrokenPromise[] = [];
	for (const [place, goal] of goals.entries()) {
		const overMs = nowMs - lateMs - horizonMsOf(goal);
		const weeks = calendar
			.spans('week', overMs - 22 * dayMs, overMs)
			.filter(({ toMs }) => toMs <= overMs)
			.slice(-2);
		const [first, last] = [weeks[0], weeks.at(-1)];
		if (!first || !last) continue;
		const served = await store.read(account.id, servedScores(first.fromMs, last.toMs));
		const rows = (
			await comparePromises(
				historyReader(store, account),
				[goal],
				served.filter((one) => one.goal === goal.name),
				{ asOfMs: Math.floor(nowMs), calendar },
			)
		).filter(({ week, band }) => week !== allWeeks && band === 'all');
		const isBroken =
			rows.length === weeks.length &&
			rows.every(({ result }) => result === 'more came' || result === 'fewer came');
		const own = rows.map(({ goal: _, band, waiting, ...week }) => week);
		if (isBroken) broken.push({ goal: goal.name, weeks: own });
		const name = `promises ${goal.name}`;
		// In order with other messages. Of several servers, one can tell it.
		const sequence = Math.floor(last.toMs + horizonMsOf(goal)) * 1000 + 300 + (place % 200);
		const data = { goal: goal.name, weeks: own };
		await store.transact(account.id, function* () {
			const known = (yield* keptFigures(name)).find((figure) => figure.name === name);
			const wasBroken = known !== undefined && JSON.parse(known.body).isBroken === true;
			if (wasBroken === isBroken) return;
			yield [keepFigure({ name, atMs: Math.floor(nowMs), body: JSON.stringify({ isBroken }) })];
			if (!isBroken) return;
			const message = {
				type: 'score.promise.broken',
				aid: account.aid,
				sequence,
				atMs: nowMs,
				data,
			} as const;
			yield [insertMessages(messagesTo(webhooks, message), Math.floor(nowMs))];
		});
	}
	return broken;
}
