import { randomUUID } from 'node:crypto';
import type { Profile } from '../../../domain/profile.ts';
import { type Reading, type Row, raw, type Steps, select, sql } from '../../steps.ts';
import { unique } from '../../unique.ts';
import {
	assignEvents,
	changeLinks,
	checkAllLinks,
	customersChange,
	type IdentityLink,
	isUnproven,
	lockContested,
	unprovenAmong,
} from '../owners/identity-links.ts';
import { addTasks } from '../tasks.ts';
import { saveHidden } from './hidden-events.ts';
import { foldOn, type LogSubject, readMoment } from './log-piece.ts';
import { refold, waitToBeFolded } from './refold.ts';
import { lockVisitors } from './stored-profiles.ts';
import { replaceTouches, type StoredTouch, touchesWithin } from './touches.ts';

/**
 * A moment of a log with more entries than a piece takes, which imports make where files name days only. Its entries are
 * read and applied without locks. The profile's `folded_to` is that moment already, so that whatever arrives for it starts
 * the fold anew, and takes the mark away.
 */
export interface Crowd extends LogSubject {
	readonly vid: string;
	readonly atMs: number;
	/** What `refolded` holds meanwhile: an id, and the profile before the moment. No JSON, so nobody takes it for a profile. */
	readonly mark: string;
}

const idLength = 36;

function isMark(refolded: Row[string] | undefined): refolded is string {
	return typeof refolded === 'string' && /^[\da-f-]{36} /.test(refolded);
}

/**
 * Whether the fold has reached a crowd.
 * @param row of a visitor or visit: `folded_to`, `refolded`
 */
export function reachedCrowd(subject: LogSubject, vid: string, row: Row | undefined): Crowd | undefined {
	return isMark(row?.refolded)
		? { ...subject, vid, atMs: Number(row.folded_to), mark: row.refolded }
		: undefined;
}

/** Begins a crowd. @param before the profile before it, as JSON */
export function* enterCrowd(
	subject: LogSubject,
	vid: string,
	{ atMs, before }: { atMs: number; before: Row[string] | undefined },
): Steps<Crowd> {
	const crowd = { ...subject, vid, atMs, mark: `${randomUUID()} ${before ?? null}` };
	// A link that proves something while the crowd is read must start the fold anew.
	if (subject.key === 'vid' && (yield* unprovenAmong([vid])).length > 0) yield [saveHidden([[vid, 2]])];
	yield* sql`UPDATE ${raw(tableOf(subject))} SET folded_to = ${atMs}, refolded = ${crowd.mark} WHERE ${raw(subject.key)} = ${subject.name} /* enter crowd */`;
	return crowd;
}

function tableOf({ key }: LogSubject): string {
	return key === 'vid' ? '@visitor' : '@visit';
}

export interface FoldedCrowd {
	readonly profile: Profile | null;
	readonly touches: readonly StoredTouch[];
	/** The links that the hits show, if some links of the visitor have lost their hits. */
	readonly links: readonly IdentityLink[];
}

/** Reads and folds a crowd. */
export function* foldCrowd({ key, name, vid, atMs, mark }: Crowd): Reading<FoldedCrowd> {
	const { entries, hits, links } = yield* readMoment({ key, name }, atMs);
	const profile = foldOn(mark.slice(idLength + 1), entries);
	if (key === 'sid') return { profile, touches: [], links: [] };
	const unfounded =
		yield* select`key FROM @claim WHERE vid = ${vid} AND unfounded IS NOT NULL LIMIT 1 /* unfounded */`;
	const touches = yield* touchesWithin(hits);
	return { profile, touches, links: unfounded.length > 0 ? links : [] };
}

/** Moves links to the hits of a crowd. @returns whether the crowd is as it was */
export function* foundCrowd({ vid, mark }: Crowd, links: readonly IdentityLink[]): Steps<boolean> {
	const { events, vids, popular, shared } = yield* lockContested(unique(links.map(({ key }) => key)), {
		changing: customersChange(links),
	});
	yield [lockVisitors(unique([vid, ...vids]))];
	const [row] = yield* select`refolded FROM @visitor WHERE vid = ${vid} /* crowd */`;
	if (row?.refolded !== mark) return false;
	const hasChanged = yield* changeLinks(links, shared);
	yield links.some(isUnproven) ? [checkAllLinks(vid)] : [];
	yield* addTasks(popular);
	const moved = yield* assignEvents(events);
	yield* refold([...moved]);
	if (moved.has(vid)) return false;
	if (!hasChanged || (yield* unprovenAmong([vid])).length === 0) return true;
	yield waitToBeFolded([vid], []);
	return false;
}

/** Stores a folded crowd, if it is as it was. */
export function* leaveCrowd(crowd: Crowd, { profile, touches }: FoldedCrowd): Steps<void> {
	const { key, name, vid, atMs, mark } = crowd;
	yield [lockVisitors([vid])];
	const left =
		yield* sql`UPDATE ${raw(tableOf(crowd))} SET refolded = ${JSON.stringify(profile)} WHERE ${raw(key)} = ${name} AND refolded = ${mark} RETURNING ${raw(key)} /* leave crowd */`;
	if (left.length > 0 && key === 'vid') yield* replaceTouches(vid, { fromMs: atMs - 1, toMs: atMs }, touches);
}
