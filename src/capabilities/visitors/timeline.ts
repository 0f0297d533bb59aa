import { compareTexts } from '../../core/domain/compare-texts.ts';
import type { Subscription } from '../../core/domain/subscription-steps.ts';
import type { Touch } from '../../core/domain/touch.ts';
import { isoTime } from '../../core/format/iso-time.ts';
import { counted, formatShare } from '../../core/format/numbers.ts';
import type { KeptMessage, VisitorRecord } from '../../kit/reading/visitor-record.ts';
import { type PathModel, pathModels, weightsOf } from '../../kit/reports/attribution-model.ts';
import type { CoursedJourney } from '../../kit/reports/courses.ts';
import { rounded } from '../../kit/reports/journey.ts';
import { defaultLookbackDays, pathOf } from '../../kit/reports/path.ts';
import { type ColumnStyles, type FlatRow, styled } from '../../kit/reports/report.ts';
import type { ScoreChange, VisitorChanges } from './visitor-changes.ts';

/** What happened at a moment, with fields of its kind. Times are ISO 8601, UTC. */
export type TimelineEntry =
	| ReturnType<typeof visitEntry>
	| ReturnType<
			typeof touchEntries | typeof stepEntries | typeof changeEntries | typeof messageEntries
	  >[number];

interface TimelineSource {
	/** Null if the visitor is not known. */
	readonly record: VisitorRecord | null;
	/** All touches of the visitor, by time. */
	readonly touches: readonly Touch[];
	readonly journeys: readonly CoursedJourney[];
	readonly changes: VisitorChanges | undefined;
	/** Nothing later is told. */
	readonly asOfMs: number;
}

/**
 * A visitor and some subscriptions as one timeline. Of equal times, visits come first, then touches, events, scores, segments
 * and messages.
 */
export function timelineOf({ record, touches, journeys, changes, asOfMs }: TimelineSource): TimelineEntry[] {
	const asOf = isoTime(asOfMs);
	return [
		...(record?.visits ?? []).map((visit) => visitEntry(visit, asOfMs)),
		...touchEntries(
			touches,
			journeys.filter(({ subscription: { owner } }) => owner !== null && owner === record?.vid),
		),
		...journeys.flatMap(stepEntries),
		...(changes ? changeEntries(changes, asOfMs) : []),
		...messageEntries(record?.messages ?? []),
	]
		.filter(({ at }) => at <= asOf)
		.sort((a, b) => compareTexts(a.at, b.at));
}

function visitEntry({ sid, profile }: VisitorRecord['visits'][number], asOfMs: number) {
	const { firstAtMs, lastAtMs, lastChannel, landingPage, hits } = profile;
	const isOver = lastAtMs <= asOfMs;
	return {
		at: isoTime(firstAtMs),
		what: 'visit' as const,
		sid,
		channel: lastChannel,
		landingPage,
		// Null where it went on after the moment as of which the timeline is.
		hits: isOver ? hits : null,
		lastHitAt: isOver ? isoTime(lastAtMs) : null,
	};
}

/** With the subscriptions that each touch led to, and its share of them; nulls where it led to none. */
function touchEntries(touches: readonly Touch[], journeys: readonly CoursedJourney[]) {
	const led = new Map<Touch, { subid: string | null; shares: Record<PathModel, number> | null }[]>();
	for (const { subscription } of journeys) {
		const path = pathOf(touches, subscription.convertedAtMs, defaultLookbackDays);
		for (const [place, shares] of sharesOf(path, subscription).entries()) {
			const touch = path[place] as Touch;
			led.set(touch, [...(led.get(touch) ?? []), { subid: subscription.subid, shares }]);
		}
	}
	return touches.flatMap((touch) => {
		const { atMs, ...origin } = touch;
		const what = 'touch' as const;
		return (led.get(touch) ?? [{ subid: null, shares: null }]).map((each) => ({
			at: isoTime(atMs),
			what,
			...origin,
			...each,
		}));
	});
}

/** The weights of a path's touches, by model. The model markov has none: it credits rows, not touches. */
export function weightsOfPath(
	path: readonly Touch[],
	{ convertedAtMs }: Pick<Subscription, 'convertedAtMs'>,
): Record<PathModel, readonly number[]> {
	const labelled = {
		labels: path.map((_, place) => place),
		agesMs: path.map(({ atMs }) => convertedAtMs - atMs),
		isDirect: path.map(({ channel }) => channel === 'direct'),
	};
	return byModel((model) => weightsOf(model, labelled));
}

/** What each touch of a path is credited with, by model, rounded as people see it. */
function sharesOf(path: readonly Touch[], subscription: Subscription): readonly Record<PathModel, number>[] {
	const weights = weightsOfPath(path, subscription);
	return path.map((_, place) => byModel((model) => rounded(weights[model][place] as number, 4)));
}

function byModel<Value>(of: (model: PathModel) => Value): Record<PathModel, Value> {
	return Object.fromEntries(pathModels.map((model) => [model, of(model)])) as Record<PathModel, Value>;
}

/** What happened to a subscription, or did not (`ended`, `due`), and what it was after that, with what is paid a month then. */
function stepEntries({ subscription: { subid, steps }, trial, course }: CoursedJourney) {
	const { movements = [], state = null, dueAtMs = null, endedAtMs = null } = course ?? {};
	const triedFromMs = trial?.payments[0]?.atMs ?? Number.POSITIVE_INFINITY;
	const happened = new Set(steps.map(({ atMs }) => atMs));
	const silent = (what: 'ended' | 'due', atMs: number) =>
		happened.has(atMs) ? [] : [{ atMs, what, evt: null, revenuePence: null }];
	const entries = [
		...steps.map(({ kind: what, atMs, evt, revenuePence }) => ({ atMs, what, evt, revenuePence })),
		...movements.flatMap(({ kind, atMs }) => (kind === 'ended' ? silent(kind, atMs) : [])),
		...(state === 'trial ended' && endedAtMs !== null ? silent('ended', endedAtMs) : []),
		...(state === 'at risk' && dueAtMs !== null ? silent('due', dueAtMs) : []),
	];
	return entries.map(({ atMs, ...entry }) => {
		const before = movements.filter((movement) => movement.atMs <= atMs);
		const last = before.at(-1);
		const lastStep = steps.findLast((step) => step.atMs <= atMs && step.kind !== 'refund');
		const active = before.some(({ kind }) => kind === 'reactivated') ? 'reactivated' : 'active';
		const isThere = lastStep?.kind === 'cancellation' ? 'cancelled' : active;
		const isTrial = !last && atMs >= triedFromMs;
		const stateOfTrial = state === 'trial ended' && atMs >= (endedAtMs as number) ? state : 'trial';
		const stateThen = last?.kind === 'ended' ? 'ended' : entry.what === 'due' ? 'at risk' : isThere;
		return {
			at: isoTime(atMs),
			...entry,
			state: last ? stateThen : isTrial ? stateOfTrial : null,
			recurringPence: last?.recurringPence ?? null,
			subid,
		};
	});
}

/** Scores that have jumped, and the first one; segments. To look at them now is no event. */
function changeEntries(changes: VisitorChanges, asOfMs: number) {
	const isPast = ({ atMs }: { readonly atMs: number }) => atMs < asOfMs;
	const [scores, segments] = [changes.scores.filter(isPast), changes.segments.filter(isPast)];
	return [
		...scores.flatMap(({ atMs, ...score }) =>
			score.change === null || score.reasons.length > 0
				? [{ at: isoTime(atMs), what: 'score' as const, ...score }]
				: [],
		),
		...segments.map(({ atMs, ...segment }) => ({ at: isoTime(atMs), what: 'segment' as const, ...segment })),
	];
}

/** Changes of segments, bands and goals, with the webhooks that they were sent to. */
function messageEntries(messages: readonly KeptMessage[]) {
	return [...Map.groupBy(messages, ({ sequence }) => sequence).values()].map((same) => {
		const [{ createdAt, type, message }] = same as [KeptMessage, ...KeptMessage[]];
		const { timestamp, data } = message as { timestamp?: string; data?: Record<string, unknown> };
		const { aid: _aid, vid: _vid, cid: _cid, sequence: _sequence, since: _since, ...told } = data ?? {};
		return {
			at: timestamp ?? createdAt,
			what: type,
			told,
			messages: same.map(({ webhook, deliveredAt }) => ({ webhook, deliveredAt })),
		};
	});
}

/** The rows of a table for people. @param withSubids whether the entries are of several subscriptions */
export function timelineRows(entries: readonly TimelineEntry[], withSubids: boolean): FlatRow[] {
	return entries.map((entry): FlatRow => {
		const step = 'revenuePence' in entry ? entry : undefined;
		const shares = 'shares' in entry ? entry.shares : null;
		return {
			at: entry.at,
			what: entry.what,
			...(withSubids && { subid: 'subid' in entry ? entry.subid : null }),
			about: aboutOf(entry),
			revenuePence: step?.revenuePence ?? null,
			state: step?.state ?? null,
			recurringPence: step?.recurringPence ?? null,
			...Object.fromEntries(pathModels.map((model) => [model, shares?.[model] ?? null])),
		};
	});
}

/** Columns of these rows that are shown in another way than their names say. */
export const timelineColumns: ColumnStyles = {
	about: { isLong: true },
	...styled(['subid', 'revenuePence', 'state', 'recurringPence'], { isOptional: true }),
	...styled(pathModels, { isShare: true, isOptional: true }),
	credit: { isShare: true, isOptional: true },
};

function aboutOf(entry: TimelineEntry): string | null {
	if ('shares' in entry) {
		const { channel, source, medium, campaign, landing } = entry;
		const names = [channel, source, medium, campaign].filter((name) => name !== null);
		return `${names.join(' / ')}${landing === null ? '' : ` to ${landing}`}`;
	}
	if ('revenuePence' in entry) return entry.evt;
	if ('sid' in entry)
		return entry.hits === null ? 'not over yet' : `${counted(entry.hits, 'hit')} until ${entry.lastHitAt}`;
	if ('score' in entry) return scoreText(entry);
	if ('isIn' in entry) return `${entry.isIn ? 'entered' : 'left'} ${entry.name}`;
	const told = Object.values(entry.told).filter((value) => value !== null);
	const sent = entry.messages.map(
		({ webhook, deliveredAt }) =>
			`${webhook} ${deliveredAt === null ? 'not delivered' : `at ${deliveredAt}`}`,
	);
	return `${told.join(' ')}, sent to ${sent.join(', ')}`;
}

function scoreText({ goal, score, change, reasons }: Omit<ScoreChange, 'atMs'>): string {
	const points =
		change === null
			? ''
			: ` (${change < 0 ? '−' : '+'}${formatShare(Math.abs(change)).replace('%', 'points')})`;
	return `${goal} ${formatShare(score)}${points}${reasons.length > 0 ? `: ${reasons.join(', ')}` : ''}`;
}
