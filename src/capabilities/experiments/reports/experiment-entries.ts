import { scoredFor } from '../../../core/domain/active-subscriptions.ts';
import { type Goal, horizonMsOf } from '../../../core/domain/goal.ts';
import type { Participant } from '../../../core/domain/ownership.ts';
import type { Profile } from '../../../core/domain/profile.ts';
import { dayMs } from '../../../core/durations.ts';
import { type GoalModel, openModel, UnusableModelError } from '../../../core/scoring/serve/goal-model.ts';
import { openScorer } from '../../../core/scoring/serve/visitor-scorer.ts';
import { compileRule } from '../../../core/segments/rule.ts';
import { scoredFacts } from '../../../core/segments/rule-facts.ts';
import { firstCustomersOf, sharingCids } from '../../../core/store/account/reading/persons.ts';
import { visitorsSeenIn } from '../../../core/store/account/reading/visitors.ts';
import type { PageReads } from '../../../core/store/serving.ts';
import type { Store } from '../../../core/store/store.ts';
import { machineBursts } from '../../../kit/reading/gateways.ts';
import {
	type AccountHistory,
	historiesOf,
	historyReader,
	type VisitorHistory,
} from '../../../kit/reading/histories.ts';
import { eventsIn } from '../../../kit/reading/journey-events.ts';
import { isIn, type Period } from '../../../kit/reports/journey.ts';
import type { ReportedAccount } from '../../../kit/reports/report-query.ts';
import { outcomesIn } from '../../training/follow/outcomes.ts';
import { profilesAt } from '../../training/rows/snapshots.ts';
import { endOfLog } from '../../training/serve/base-rate.ts';
import { personIn } from '../domain/draw.ts';

/** A visitor's entry: the first moment at which the rule was fulfilled, and what was known then. */
interface Entry {
	readonly atMs: number;
	readonly channel: string | null;
	readonly device: string | null;
	/** The chance to reach the goal. */
	readonly score: number;
	/** Whether the goal is reached within its horizon after the entry; undefined while that is not known. */
	readonly isConverted: boolean | undefined;
}

/** Somebody who has entered: a visitor, or a customer, and the first entry. */
export interface Entrant extends Entry {
	/** Decides the group, see `personIn`. */
	readonly person: string;
	/** All whom the customer joins: their subscriptions are meant. */
	readonly vids: readonly string[];
}

export interface Entrants {
	/** In no particular order. */
	readonly entrants: readonly Entrant[];
	/** Who entered as a mail gateway does, and is left out. */
	readonly gateways: readonly Entrant[];
	/** How many customers entered as several visitors who are drawn apart: they may have been in both groups. */
	readonly leftOut: number;
	/** How many of these reached the goal within its horizon after they first entered. */
	readonly leftOutConversions: number;
	/** The version of the model that gives the scores; null where there is none, and all scores are 0. */
	readonly scoredBy: string | null;
	/** Whether the rule reads scores. */
	readonly readsScores: boolean;
}

/** What is asked about entries. */
export interface EntryQuery {
	readonly rule: string;
	readonly goal: Goal;
	/** Of entries. It begins with the experiment. */
	readonly period: Period;
	readonly asOfMs: number;
	/** Whether mail gateways enter, too. */
	readonly include?: 'gateways' | null;
}

type Reader = Pick<Store, 'read' | 'control'> & PageReads;

const vidsPerRead = 250;

/**
 * Who entered in a period: whoever had a hit or an upload in it after which the rule was fulfilled, by what was known then, and whoever
 * asked for the segment. Rules that read scores are given those of the present models. Visitors who
 * had shown one customer before the period are one. A customer who entered as several others is left out, in whatever groups,
 * so that leaving out does not make the groups differ.
 *
 * Whoever enters in a burst that mail gateways made is left out, also the few who go on to something else. Whether they do may be what
 * an experiment changes, so leaving out only those who do not would make its groups differ.
 *
 * The score is that of the newest model that had learned nothing from the period: one that had would know its outcomes.
 */
export async function entrantsIn(
	store: Reader,
	account: ReportedAccount,
	{ rule, goal, period, asOfMs, include = null }: EntryQuery,
): Promise<Entrants> {
	const within = { fromMs: period.fromMs, toMs: Math.min(period.toMs, asOfMs + 1) };
	const model = await modelBefore(store, account.id, goal, period.fromMs);
	const reader = historyReader(store, account, 'gateways');
	const outcomeAt = await outcomeReader(reader, goal, asOfMs);
	const entries = new Map<string, Entry>();
	const compiled = compileRule(rule);
	const known = (await store.control.accessSnapshot()).accounts.get(account.aid);
	await using scorer = openScorer(store, asOfMs);
	const histories = (vids: readonly string[]) => historiesOf(reader, vids, asOfMs);
	for await (const history of histories(await visitorsIn(store, account.id, within)))
		for (const { atMs, profile } of looksIn(history, within)) {
			if (!compiled.matches(await scoredFacts(compiled, scorer, known, profile, atMs))) continue;
			entries.set(history.vid, {
				atMs,
				channel: profile.lastChannel,
				device: profile.device,
				score: model?.probability(profile, atMs) ?? 0,
				isConverted: outcomeAt(history, profile, atMs),
			});
			break;
		}
	const entrants: Entrant[] = [];
	let [leftOut, leftOutConversions] = [0, 0];
	for (const members of await familiesOf(store, account.id, [...entries.keys()], asOfMs)) {
		const entered = members.flatMap((member) => {
			const entry = entries.get(member.vid);
			entries.delete(member.vid);
			return entry ? [{ entry, person: personIn(period, member) }] : [];
		});
		const [person, ...others] = new Set(entered.map((one) => one.person));
		if (person === undefined) continue;
		const first = entered.map(({ entry }) => entry).reduce((a, b) => (b.atMs < a.atMs ? b : a));
		const vids = members.map(({ vid }) => vid);
		let { isConverted } = first;
		if (vids.length > 1) {
			const outcomes: (boolean | undefined)[] = [];
			for await (const history of histories(vids))
				outcomes.push(outcomeAt(history, profilesAt(history, [first.atMs])[0] ?? null, first.atMs));
			isConverted = outcomes.includes(undefined) ? undefined : outcomes.includes(true);
		}
		if (others.length === 0) entrants.push({ ...first, isConverted, person, vids });
		else {
			leftOut++;
			if (isConverted) leftOutConversions++;
		}
	}
	for (const [vid, entry] of entries) entrants.push({ ...entry, person: vid, vids: [vid] });
	const arrivals = await machineBursts(store, account, { asOfMs, period: within, include });
	const bursts = new Set(arrivals.map(({ vid, atMs }) => arrivalName(vid, atMs)));
	const isOfBurst = ({ vids, atMs }: Entrant) => vids.some((vid) => bursts.has(arrivalName(vid, atMs)));
	return {
		entrants: entrants.filter((entrant) => !isOfBurst(entrant)),
		gateways: entrants.filter(isOfBurst),
		leftOut,
		leftOutConversions,
		scoredBy: model?.version ?? null,
		readsScores: compiled.readsScores,
	};
}

function arrivalName(vid: string, atMs: number): string {
	return `${vid} ${atMs}`;
}

/** The newest usable model of visitors that has learned from nothing later than a moment. */
async function modelBefore(
	{ control }: Pick<Store, 'control'>,
	accountId: number,
	goal: Goal,
	beforeMs: number,
): Promise<GoalModel | undefined> {
	// A goal of renewals is scored for a subscription, which not all who enter have.
	if (goal.counts === 'renewal') return undefined;
	for (const name of (await control.models(accountId)).toReversed()) {
		if (name.goal !== goal.name || name.scope !== 'vid') continue;
		const { asOf, kind } = JSON.parse(await control.modelReport(accountId, name));
		if (kind === 'prior' || !(Date.parse(asOf) <= beforeMs)) continue;
		try {
			return openModel(name.version, await control.modelBody(accountId, name));
		} catch (error) {
			if (!(error instanceof UnusableModelError)) throw error;
		}
	}
	return undefined;
}

type OutcomeAt = (history: VisitorHistory, profile: Profile | null, atMs: number) => boolean | undefined;

/** Tells whether a goal is reached within its horizon after a moment; undefined while that is not known. */
async function outcomeReader(reader: AccountHistory, goal: Goal, asOfMs: number): Promise<OutcomeAt> {
	// The time since a log ended would look like a time without outcomes.
	const knownToMs = await endOfLog(reader, asOfMs);
	const judging = { goal, cadences: await reader.cadences(asOfMs), knownToMs };
	return (history, profile, atMs) => {
		const isOver = goal.counts === 'renewal' || atMs + horizonMsOf(goal) <= knownToMs;
		if (!isOver) return undefined;
		// Who has nothing to renew does not renew.
		if (!profile || !scoredFor(goal, profile, atMs, judging.cadences)) return false;
		const [outcome] = outcomesIn(history, judging)(profile, atMs);
		return outcome && outcome.label === 1;
	};
}

/** The moments of a period at which a visitor may begin to fulfil a rule: of hits, and of what became known of uploads. */
function looksIn(history: VisitorHistory, period: Period) {
	const known = history.events.map(({ knownFromMs }) => knownFromMs);
	const all = new Set([...history.hits.map(({ atMs }) => atMs), ...known]);
	const moments = [...all].filter((atMs) => isIn(period, atMs)).sort((a, b) => a - b);
	// What is uploaded before the first hit belongs to nobody yet: there is no profile.
	return profilesAt(history, moments).flatMap((profile, place) =>
		profile ? [{ profile, atMs: moments[place] as number }] : [],
	);
}

/** Visitors with a hit or an upload in a period. */
async function visitorsIn(
	store: Pick<Store, 'read'>,
	accountId: number,
	{ fromMs, toMs }: Period,
): Promise<string[]> {
	const vids = new Set<string>();
	for (let dayFromMs = fromMs; dayFromMs < toMs; dayFromMs += dayMs) {
		const dayOfIt = { fromMs: dayFromMs, toMs: Math.min(toMs, dayFromMs + dayMs) };
		for (const vid of await store.read(accountId, visitorsSeenIn(dayOfIt))) vids.add(vid);
	}
	for (const { vid } of await store.read(accountId, eventsIn({ fromMs, toMs }))) if (vid) vids.add(vid);
	return [...vids].sort();
}

/** The visitors whom a customer joins to some of these, by customer. Visitors who have shown none are left out. */
async function familiesOf(
	store: Pick<Store, 'read'>,
	accountId: number,
	vids: readonly string[],
	asOfMs: number,
): Promise<Iterable<readonly Participant[]>> {
	const firstOf = (some: readonly string[]) => store.read(accountId, firstCustomersOf(some, asOfMs));
	const entered = await inPages(vids, firstOf);
	const cids = new Set([...entered.values()].map(({ cid }) => cid));
	const sharing = await inPages([...entered.keys()], async (some) =>
		(await store.read(accountId, sharingCids(some, asOfMs))).map((vid) => [vid, true] as const),
	);
	const others = [...sharing.keys()].filter((vid) => !entered.has(vid));
	const all = [...entered, ...(await inPages(others, firstOf))].filter(([, { cid }]) => cids.has(cid));
	return Map.groupBy(
		all.map(([vid, customer]) => ({ vid, customer })),
		({ customer: { cid } }) => cid,
	).values();
}

async function inPages<Value>(
	vids: readonly string[],
	read: (some: readonly string[]) => Promise<Iterable<readonly [string, Value]>>,
): Promise<Map<string, Value>> {
	const found = new Map<string, Value>();
	for (let from = 0; from < vids.length; from += vidsPerRead)
		for (const [vid, value] of await read(vids.slice(from, from + vidsPerRead))) found.set(vid, value);
	return found;
}
