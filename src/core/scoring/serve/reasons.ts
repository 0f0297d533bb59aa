import type { ActiveSubscription } from '../../domain/active-subscriptions.ts';
import type { Profile } from '../../domain/profile.ts';
import { dayMs, hourMs, minuteMs } from '../../durations.ts';
import { moneyOf } from '../../format/money.ts';
import type { Account } from '../../store/control/account-store.ts';
import type { Scorer } from '../model/scorer.ts';
import { absentRow, type FeatureRow, type FeatureSet } from '../rows/features.ts';
import { knownNumbers, knownTexts, renewalNumbers } from '../rows/known-features.ts';
import { recencyOf } from '../rows/recency.ts';

/** What an account calls things by. */
export type Wording = Pick<Account, 'currency' | 'cancellationEvt'>;

interface ProfileAt {
	readonly profile: Profile;
	readonly nowMs: number;
	/** The subscription that a goal of renewals is about. */
	readonly renewing?: ActiveSubscription | undefined;
	readonly wording: Wording;
}

/** Describes a fact in plain language; undefined if there is nothing to say. */
type Phrase = (known: ProfileAt, name: string) => string | undefined;

/** Names come from hits, which anybody may send. */
const maxNameCharacters = 60;

const phrases: Readonly<Record<string, Phrase>> = {
	hits: ({ profile }) => count(profile.hits, 'hit'),
	differentPages: ({ profile, nowMs }) => {
		const pages = profile.pageTimes.filter(([, atMs]) => atMs >= nowMs - 30 * dayMs).length;
		return pages > 0 ? `${count(pages, 'different page')} in 30 days` : undefined;
	},
	visits: ({ profile, nowMs }) => {
		const visits = count(profile.visits, 'visit');
		const days = [7, 30].find((limit) => profile.firstAtMs >= nowMs - limit * dayMs);
		return visits && days && profile.visits > 1 ? `${visits} in ${days} days` : visits;
	},
	dwell: ({ profile }) =>
		profile.dwellMs < minuteMs
			? undefined
			: `${count(Math.floor(profile.dwellMs / minuteMs), 'minute')} on the site`,
	first: ({ profile, nowMs }) => `first seen ${ago(nowMs - profile.firstAtMs)}`,
	last: ({ profile, nowMs }) => `last seen ${ago(nowMs - (profile.visit?.lastHitAtMs ?? profile.lastAtMs))}`,
	events: ({ profile }) =>
		count(
			profile.events.reduce((sum, [, times]) => sum + times, 0),
			'event',
		),
	subscriptions: ({ profile: { subscriptions }, nowMs }) => {
		if (!subscriptions) return undefined;
		const latest = ago(nowMs - subscriptions.lastAtMs);
		return subscriptions.count === 1
			? `subscribed ${latest}`
			: `${subscriptions.count} subscription events, the latest ${latest}`;
	},
	due: ({ renewing, nowMs }) => {
		if (!renewing?.cover) return undefined;
		const days = Math.round((renewing.cover.dueAtMs - nowMs) / dayMs);
		if (days === 0) return 'due to renew now';
		return days > 0 ? `due to renew in ${count(days, 'day')}` : `due to renew ${count(-days, 'day')} ago`;
	},
	revenue: ({ profile: { subscriptions }, wording: { currency } }) =>
		subscriptions && subscriptions.revenuePence > 0
			? `spent ${moneyOf(currency)(subscriptions.revenuePence)}`
			: undefined,
	page: ({ profile, nowMs }, name) => {
		const page = name === '/' ? 'the home page' : plain(name);
		const atMs = profile.pageTimes.find(([known]) => known === name)?.[1];
		return atMs === undefined ? `began at ${page}` : `viewed ${page} ${ago(nowMs - atMs)}`;
	},
	channel: (_, name) => (name === 'direct' ? 'came directly' : `came by ${plain(name)}`),
	device: (_, name) => devices.get(name) ?? `on ${plain(name)}`,
	event: ({ profile }, name) =>
		`event ${plain(name)}${times(profile.events.find(([known]) => known === name)?.[1])}`,
	evt: ({ profile: { subscriptions }, wording: { cancellationEvt } }, name) =>
		`${name === cancellationEvt ? 'cancelled' : `subscribed to ${plain(name)}`}${times(subscriptions?.evts.find(([known]) => known === name)?.[1])}`,
};

const devices = new Map([
	['desktop', 'on a desktop computer'],
	['mobile', 'on a phone'],
	['tablet', 'on a tablet'],
	['tv', 'on a television'],
	['other', 'on another device'],
]);

/** A fact about a visitor, and the columns of a row that express it: numbers first, then texts. */
export interface Fact {
	/** What it is about; `last` is the time since the last visit. */
	readonly fact: string;
	readonly phrase: string;
	readonly columns: readonly number[];
}

/** The facts about a visitor that may raise or lower a score, in no order. */
export function factsOf(
	features: FeatureSet,
	row: FeatureRow,
	known: ProfileAt,
	which: 'raise' | 'lower',
): Fact[] {
	const { profile } = known;
	const columnsOf = new Map<string, number[]>();
	const add = (fact: string, column: number) =>
		columnsOf.getOrInsertComputed(sameFact(fact, profile), () => []).push(column);
	// `Object.is`, because a missing number is NaN.
	for (const [column, { name, absent }] of features.numeric.entries())
		if (!Object.is(row.numeric[column], absent ?? Number.NaN)) add(factOf(name, which), column);
	for (const [index, { name, absent }] of features.categorical.entries()) {
		const value = row.categorical[index] as string;
		if (value !== absent) add(`${knownTexts[name]?.kind}:${value}`, features.numeric.length + index);
	}
	return [...columnsOf].flatMap(([fact, columns]) => {
		const [, kind = '', name = ''] = /^(\w+):?(.*)$/su.exec(fact) ?? [];
		const phrase = phrases[kind]?.(known, name);
		return phrase === undefined ? [] : [{ fact, phrase, columns }];
	});
}

function numberOf(name: string) {
	return knownNumbers[name] ?? renewalNumbers[name];
}

function factOf(name: string, which: 'raise' | 'lower'): string {
	const known = numberOf(name);
	if (which === 'lower' && known?.fades) return 'last';
	return known?.fact ?? name.replace(/^channelShare:/, 'channel:');
}

/** Merges facts that would say the same of a visitor with hardly any history. */
function sameFact(fact: string, { hits, visits, pageTimes, events, subscriptions }: Profile): string {
	// Everybody has a hit and a visit. A single one says when, and no more.
	if ((fact === 'first' || fact === 'visits') && visits <= 1) return 'last';
	if (fact === 'differentPages' && pageTimes.length <= 1) return hits <= 1 ? 'last' : 'hits';
	if (fact === 'hits' && hits <= 1) return 'last';
	if (fact === 'events' && events.length === 1) return `event:${events[0]?.[0]}`;
	if (fact.startsWith('evt:') && subscriptions?.count === 1) return 'subscriptions';
	return fact;
}

/** What the time since the last visit is compared with: as a reason that raises, with long ago; else with just now. */
const otherTimes: Readonly<Record<'raise' | 'lower', Readonly<Record<string, number>>>> = {
	raise: { visitOverdue: 100 },
	lower: { daysSinceLast: 0, visitOverdue: 0 },
};

/**
 * The row that a visitor's facts are compared with: their absence, or the least that everybody has, or for the time since
 * the last visit its opposite.
 */
export function comparedRow(features: FeatureSet, row: FeatureRow, which: 'raise' | 'lower'): FeatureRow {
	const { numeric, categorical } = absentRow(features);
	return {
		numeric: features.numeric.map(({ name }, column) =>
			which === 'lower' && numberOf(name)?.fades
				? Math.max(1, row.numeric[column] as number)
				: (otherTimes[which][name] ?? numberOf(name)?.least ?? (numeric[column] as number)),
		),
		categorical,
	};
}

/** The start of a reason that lowers a score. */
export const lowering = 'less likely: ';

/** The facts that raise or lower a score most, in plain language, strongest first. */
export function strongestFacts(
	scorer: Scorer,
	row: FeatureRow,
	known: ProfileAt,
	which: 'raise' | 'lower',
	max: number,
): string[] {
	const { profile, nowMs } = known;
	const { features } = scorer.model;
	const lastAtMs = profile.visit?.lastHitAtMs ?? profile.lastAtMs;
	// Being present is nothing special among those who are, and a visit today never makes anybody less likely.
	const isTold = which === 'raise' ? recencyOf({ lastAtMs }, nowMs, 0) !== 0 : nowMs - lastAtMs >= dayMs;
	const facts = factsOf(features, row, known, which).filter(({ fact }) => isTold || fact !== 'last');
	const contributions = scorer.contributions(
		row,
		facts.map(({ columns }) => columns),
		comparedRow(features, row, which),
	);
	const moving = facts
		.map(({ phrase }, index) => ({ phrase, logOdds: contributions[index] as number }))
		.filter(({ logOdds }) => (which === 'raise' ? logOdds > 0 : logOdds < 0))
		.sort((a, b) => Math.abs(b.logOdds) - Math.abs(a.logOdds));
	// Cutting long names may have made them equal.
	const phrases = [...new Set(moving.map(({ phrase }) => phrase))].slice(0, max);
	return which === 'raise' ? phrases : phrases.map((phrase) => lowering + phrase);
}

function count(number: number, unit: string): string | undefined {
	return number > 0 ? `${number} ${unit}${number === 1 ? '' : 's'}` : undefined;
}

function times(number = 1): string {
	return number === 1 ? '' : ` ${number} times`;
}

function ago(passedMs: number): string {
	for (const [unitMs, unit] of [
		[dayMs, 'day'],
		[hourMs, 'hour'],
		[minuteMs, 'minute'],
	] as const)
		if (passedMs >= unitMs) return `${count(Math.floor(passedMs / unitMs), unit)} ago`;
	return 'just now';
}

/** A name as plain text on one line. */
function plain(name: string): string {
	const characters = [
		...name
			.toWellFormed()
			.replace(/[\p{C}\p{Z}]+/gu, ' ')
			.trim(),
	];
	if (characters.length <= maxNameCharacters) return characters.join('');
	return `${characters.slice(0, maxNameCharacters - 1).join('')}…`;
}
