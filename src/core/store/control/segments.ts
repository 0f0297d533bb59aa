import type { CapabilityNouns } from '../../capability.ts';
import type { Segment } from '../../domain/segment.ts';
import { OperatorError } from '../../errors.ts';
import { insertNote } from './notes.ts';
import { deleteRows, insertRows, nextSeq, selectRows, updateRows } from './rows.ts';
import type { ControlDatabase, ControlDoors, ControlTables } from './tables.ts';

/** Converts a row of `segment`. */
export function toSegment({ id, name, rule }: ControlTables['segment']): Segment {
	return { id, name, rule };
}

async function selectSegments(database: ControlDatabase, accountId: number): Promise<Segment[]> {
	return (await selectRows(database, 'segment', { account_id: accountId }, 'seq')).map(toSegment);
}

export async function insertSegment(
	database: ControlDatabase,
	accountId: number,
	{ id, name, rule }: Segment,
	nowMs: number,
): Promise<void> {
	const key = { account_id: accountId, id };
	if ((await selectRows(database, 'segment', key)).length > 0)
		throw new OperatorError(`The account has a segment ${id} already; 'caskade segment update' changes it.`);
	const seq = await nextSeq(database, 'segment');
	await insertRows(database, 'segment', { ...key, name, rule, created_at: nowMs, seq });
}

async function selectSegment(database: ControlDatabase, accountId: number, id: string): Promise<Segment> {
	const segment = (await selectSegments(database, accountId)).find((known) => known.id === id);
	if (!segment)
		throw new OperatorError(`The account has no segment ${id}; 'caskade segment list AID' shows all.`);
	return segment;
}

export function segmentStore({ database, change, now }: ControlDoors, nouns: readonly CapabilityNouns[]) {
	const requireUnused = async (transaction: ControlDatabase, accountId: number, id: string) => {
		for (const { requireUnused } of nouns) await requireUnused?.(transaction, accountId, id, now());
	};
	return {
		/** In order of creation. */
		segments: (accountId: number) => selectSegments(database, accountId),

		/** @throws OperatorError where there is none */
		segment: (accountId: number, id: string) => selectSegment(database, accountId, id),

		/** @throws OperatorError where the account has a segment of that id */
		createSegment: (accountId: number, segment: Segment) =>
			change(async (transaction) => {
				await insertSegment(transaction, accountId, segment, now());
				await insertNote(transaction, accountId, `The segment ${segment.id} was added.`, now());
			}),

		/**
		 * Fields that are left out keep their value.
		 * @throws OperatorError where there is none, or something needs its rule as it is
		 */
		updateSegment: (accountId: number, id: string, changes: Partial<Omit<Segment, 'id'>>): Promise<Segment> =>
			change(async (transaction) => {
				const known = await selectSegment(transaction, accountId, id);
				if (changes.rule !== undefined && changes.rule !== known.rule) {
					await requireUnused(transaction, accountId, id);
					await insertNote(transaction, accountId, `The rule of the segment ${id} was changed.`, now());
				}
				await updateRows(transaction, 'segment', { account_id: accountId, id }, changes);
				return { ...known, ...changes };
			}),

		/** @throws OperatorError where there is none, or something needs it */
		deleteSegment: (accountId: number, id: string): Promise<void> =>
			change(async (transaction) => {
				await selectSegment(transaction, accountId, id);
				await requireUnused(transaction, accountId, id);
				await deleteRows(transaction, 'segment', { account_id: accountId, id });
				await insertNote(transaction, accountId, `The segment ${id} was deleted.`, now());
			}),
	};
}
