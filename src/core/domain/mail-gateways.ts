import { minuteMs } from '../durations.ts';

/**
 * Mail gateways open the links of a mailing as it is delivered: many at once, each as a visitor of one hit who never does anything
 * else. People open it one by one, and some of them go on. Both must speak for machines.
 */

/** An arrival by a mailing. */
export interface MailArrival {
	readonly atMs: number;
	readonly vid: string;
}

/** An arrival in a burst that machines made. */
export interface BurstArrival extends MailArrival {
	/** Whether the visitor has done nothing else. */
	readonly isGateway: boolean;
}

/** When visitors that are mail gateways came, by `vid`. Each has one hit, and one arrival at that moment. */
export type Gateways = ReadonlyMap<string, number>;

export const noGateways: Gateways = new Map();

/** Arrivals of a burst follow each other so closely. */
const maxGapMs = 1000;
/** What lasts longer is no burst. */
const maxBurstMs = 30_000;
/** How long before and after a burst its surroundings are. */
export const surroundingsMs = minuteMs;
/** A burst has so many times the arrivals that as long a part of its surroundings has. */
const minTimesDenser = 10;
/** The share of people who go on: to a second page, an event, an id, or a later visit. Of most mailings it is more. */
const peopleGoOn = 0.2;
/** Bursts of people are taken for machines in so many cases at most, where as many go on. */
const maxMistaken = 0.001;
/** The bursts of fewer people may well have nobody who goes on. */
const minVisitors = Math.ceil(Math.log(maxMistaken) / Math.log(1 - peopleGoOn));
/**
 * A burst lies in two parts of time at most, since none lasts longer than one. So one of them has half of its arrivals, and no burst is
 * missed where only parts with as many arrivals, of whatever kind, are looked at.
 */
export const burstPart = { lengthMs: maxBurstMs, minArrivals: Math.ceil(minVisitors / 2) } as const;
/** Nobody has gone on yet right after a mailing, so judgement waits as long as a visit may pause. */
export const goesOnMs = 30 * minuteMs;

/** A burst of arrivals may reach as far beyond a period, with its surroundings. */
export const burstMarginMs = maxBurstMs + surroundingsMs;

/**
 * Bursts among the arrivals by one mailing.
 * @param arrivals in order of time
 */
export function* burstsIn(arrivals: readonly MailArrival[]): Generator<readonly MailArrival[]> {
	let begin = 0;
	for (let end = 1; end <= arrivals.length; end++) {
		const [before, next] = [arrivals[end - 1] as MailArrival, arrivals[end]];
		if (next && next.atMs - before.atMs <= maxGapMs) continue;
		if (end - begin >= minVisitors && isDense(arrivals, begin, end)) yield arrivals.slice(begin, end);
		begin = end;
	}
}

function isDense(arrivals: readonly MailArrival[], begin: number, end: number): boolean {
	const at = (place: number) => (arrivals[place] as MailArrival).atMs;
	const [firstMs, lastMs] = [at(begin), at(end - 1)];
	if (lastMs - firstMs > maxBurstMs) return false;
	let around = 0;
	for (let place = begin - 1; place >= 0 && at(place) >= firstMs - surroundingsMs; place--) around++;
	for (let place = end; place < arrivals.length && at(place) <= lastMs + surroundingsMs; place++) around++;
	const expected = (around * (lastMs - firstMs + maxGapMs)) / (2 * surroundingsMs);
	return end - begin >= minTimesDenser * expected;
}

/** Whether so few of a burst's visitors have gone on that they are hardly people. */
export function areMachines(visitors: number, wentOn: number): boolean {
	// The chance that of so many people no more go on, term by term; in logarithms, as the first may be too small for a number.
	let term = visitors * Math.log(1 - peopleGoOn);
	let chance = Math.exp(term);
	for (let count = 1; count <= wentOn && chance <= maxMistaken; count++) {
		term += Math.log(((visitors - count + 1) / count) * (peopleGoOn / (1 - peopleGoOn)));
		chance += Math.exp(term);
	}
	return chance <= maxMistaken;
}

/** What is said beside a figure that they are left out of. */
export function leftOutText(visitors: number): string {
	const who = visitors === 1 ? '1 visitor is left out who is a' : `${visitors} visitors are left out who are`;
	return `${who} mail gateway${visitors === 1 ? '' : 's'}: they came at once by one mailing, with a single hit.`;
}
