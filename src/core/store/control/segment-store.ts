import type { CapabilityNouns } from '../../capability.ts';
import type { Segment } from '../../domain/segment.ts';
import { OperatorError } from '../../errors.ts';
import { changing, having, inserting, type Reading, type Steps, select, sql } from '../steps.ts';
import { type ControlDoors, nextSeq } from './control-tables.ts';
import { insertNote } from './note-store.ts';

/** In order of creation: of an account, or of all. */
export const selectSegments = (accountId?: number, id?: string) =>
	select<
		Segment & { readonly account_id: number }
	>`* FROM @segment WHERE ${having({ account_id: accountId, id })} ORDER BY seq`;

/** Of a row. */
export function toSegment({ id, name, rule }: Segment): Segment {
	return { id, name, rule };
}

export function* insertSegment(accountId: number, { id, name, rule }: Segment, nowMs: number): Steps<void> {
	if ((yield* selectSegments(accountId, id)).length > 0)
		throw new OperatorError(`The account has a segment ${id} already; 'caskade segment update' changes it.`);
	const seq = yield* nextSeq('segment');
	yield* sql`INSERT INTO @segment ${inserting({ account_id: accountId, id, name, rule, created_at: nowMs, seq })}`;
}

function* selectSegment(accountId: number, id: string): Reading<Segment> {
	const [segment] = yield* selectSegments(accountId, id);
	if (!segment)
		throw new OperatorError(`The account has no segment ${id}; 'caskade segment list AID' shows all.`);
	return toSegment(segment);
}

export function segmentStore({ read, change, now }: ControlDoors, nouns: readonly CapabilityNouns[]) {
	function* requireUnused(accountId: number, id: string): Reading<void> {
		for (const noun of nouns) if (noun.requireUnused) yield* noun.requireUnused(accountId, id, now());
	}
	return {
		/** In order of creation. */
		segments: async (accountId: number) => (await read(selectSegments(accountId))).map(toSegment),

		/** @throws OperatorError where there is none */
		segment: (accountId: number, id: string) => read(selectSegment(accountId, id)),

		/** @throws OperatorError where the account has a segment of that id */
		createSegment: (accountId: number, segment: Segment): Promise<void> =>
			change(function* () {
				yield* insertSegment(accountId, segment, now());
				yield* insertNote(accountId, `The segment ${segment.id} was added.`, now());
			}),

		/**
		 * Fields that are left out keep their value.
		 * @throws OperatorError where there is none, or something needs its rule as it is
		 */
		updateSegment: (accountId: number, id: string, changes: Partial<Omit<Segment, 'id'>>): Promise<Segment> =>
			change(function* () {
				const known = yield* selectSegment(accountId, id);
				const changed = { ...known, ...changes };
				if (changed.rule !== known.rule) {
					yield* requireUnused(accountId, id);
					yield* insertNote(accountId, `The rule of the segment ${id} was changed.`, now());
				}
				const { name, rule } = changed;
				yield* sql`UPDATE @segment SET ${changing({ name, rule })} WHERE account_id = ${accountId} AND id = ${id}`;
				return changed;
			}),

		/** @throws OperatorError where there is none, or something needs it */
		deleteSegment: (accountId: number, id: string): Promise<void> =>
			change(function* () {
				yield* selectSegment(accountId, id);
				yield* requireUnused(accountId, id);
				yield* sql`DELETE FROM @segment WHERE account_id = ${accountId} AND id = ${id}`;
				yield* insertNote(accountId, `The segment ${id} was deleted.`, now());
			}),
	};
}
