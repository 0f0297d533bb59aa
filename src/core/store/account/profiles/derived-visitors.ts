import type { DerivedVisitor } from '../../../domain/derived-vid.ts';
import { ConcurrentChangeError } from '../../../errors.ts';
import {
	type Askable,
	type Lock,
	type Query,
	type Reading,
	type Row,
	type Select,
	type Steps,
	select,
	sql,
	values,
} from '../../steps.ts';
import { unique } from '../../unique.ts';
import { findOwning, loadFreeVisitors } from './stored-profiles.ts';

/** The derived visitors of some hits. */
export function derivedOf(
	hits: readonly { readonly derived?: DerivedVisitor | undefined }[],
): DerivedVisitor[] {
	return hits.flatMap(({ derived }) => derived ?? []);
}

/**
 * Locks derived visitors, which others may be about to store for the first time, too: a row that does not exist cannot be
 * locked. After keys and events, and right before the rows of visitors, see `docs/decisions/0009`.
 */
export function lockDerived(derived: readonly DerivedVisitor[]): Lock {
	return { lock: 'exclusive', keys: unique(derived.map(({ vid }) => `v:${vid}`)) };
}

/** Which of them were erased. To be asked after their rows are locked, or an erasure that was waited for would be missed. */
export function findErased(derived: readonly DerivedVisitor[]): Askable<Select> {
	return select`mark, successor FROM @erased WHERE mark IN ${unique(derived.map(({ mark }) => mark))} /* erased */`;
}

/** Whom marks lead to. @param erased rows of `findErased` */
export function successorsAmong(erased: readonly Row[]): ReadonlyMap<string, string> {
	return new Map(erased.map(({ mark, successor }) => [String(mark), String(successor)]));
}

/** Who a derived visitor is: itself, or its successor. */
export function issuedVid({ vid, mark }: DerivedVisitor, successors: ReadonlyMap<string, string>): string {
	return successors.get(mark) ?? vid;
}

/** Whom the marks of those derived visitors lead to that were erased. */
export function* successorsOf(derived: readonly DerivedVisitor[]): Reading<ReadonlyMap<string, string>> {
	return successorsAmong(yield* findErased(derived));
}

/**
 * Loads the visitors that erased ones lead to. Seldom are there any.
 * @param erased rows of `findErased`
 * @returns also which of them own events, see `findOwning`
 */
export function* loadSuccessors(erased: readonly Row[]): Steps<{
	successors: ReadonlyMap<string, string>;
	rows: readonly Row[];
	owning: readonly Row[];
}> {
	const successors = successorsAmong(erased);
	if (successors.size === 0) return { successors, rows: [], owning: [] };
	const vids = unique([...successors.values()]);
	const { rows, busy } = yield* loadFreeVisitors(vids);
	// To wait for them could be a deadlock, now that other visitors are locked.
	if (busy.length > 0) throw new ConcurrentChangeError('the successor of an erased visitor is busy');
	return { successors, rows, owning: yield* findOwning(vids) };
}

/** The mark of what was erased, and when. */
export interface ErasedMark {
	readonly mark: string;
	/** A random `vid`, to which leads what has led to an erased visitor; empty for a customer. */
	readonly successor: string;
	readonly atMs: number;
}

/** Keeps that visitors or customers were erased, by their marks. */
export function saveMarks(marks: readonly ErasedMark[]): Query {
	return sql`INSERT INTO @erased (mark, successor, at) ${values(marks.map(({ mark, successor, atMs }) => [mark, successor, atMs]))} ON CONFLICT (mark) DO UPDATE SET at = excluded.at WHERE erased.at IS NULL OR excluded.at > erased.at /* erase */`;
}

/** Keeps that a visitor was erased, so that nothing leads to its `vid` again. */
export function saveErased(vid: string, mark: ErasedMark): Query[] {
	return [
		sql`UPDATE @erased SET successor = ${mark.successor} WHERE successor = ${vid} /* erase */`,
		saveMarks([mark]),
	];
}

/** When these were erased; undefined for what was erased before it was kept, or never. @param marks at most a page */
export function* erasedAt(marks: readonly string[]): Reading<ReadonlyMap<string, number>> {
	const rows = yield* select`mark, at FROM @erased WHERE mark IN ${marks} AND at IS NOT NULL /* erased at */`;
	return new Map(rows.map(({ mark, at }) => [String(mark), Number(at)]));
}
