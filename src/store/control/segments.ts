import type { Segment } from '../../domain/segment.ts';
import { OperatorError } from '../../errors.ts';
import { requireNoExperiment } from './experiments.ts';
import { insertNote } from './notes.ts';
import { type ControlDatabase, type ControlDoors, type ControlTables, nextSeq } from './tables.ts';

/** Converts a row of `segment`. */
export function toSegment({ id, name, rule }: ControlTables['segment']): Segment {
	return { id, name, rule };
}

async function selectSegments(database: ControlDatabase, accountId: number): Promise<Segment[]> {
	const rows = await database
		.selectFrom('segment')
		.selectAll()
		.where('account_id', '=', accountId)
		.orderBy('seq')
		.execute();
	return rows.map(toSegment);
}

export async function insertSegment(
	database: ControlDatabase,
	accountId: number,
	{ id, name, rule }: Segment,
	nowMs: number,
): Promise<void> {
	const { numInsertedOrUpdatedRows } = await database
		.insertInto('segment')
		.values({
			account_id: accountId,
			id,
			name,
			rule,
			created_at: nowMs,
			seq: await nextSeq(database, 'segment'),
		})
		.onConflict((conflict) => conflict.columns(['account_id', 'id']).doNothing())
		.executeTakeFirstOrThrow();
	if (numInsertedOrUpdatedRows !== 1n)
		throw new OperatorError(`The account has a segment ${id} already; 'caskade segment update' changes it.`);
}

async function selectSegment(database: ControlDatabase, accountId: number, id: string): Promise<Segment> {
	const segment = (await selectSegments(database, accountId)).find((known) => known.id === id);
	if (!segment)
		throw new OperatorError(`The account has no segment ${id}; 'caskade segment list AID' shows all.`);
	return segment;
}

export function segmentStore({ database, change, now }: ControlDoors) {
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
		 * @throws OperatorError where there is none, or an experiment needs its rule
		 */
		updateSegment: (accountId: number, id: string, changes: Partial<Omit<Segment, 'id'>>): Promise<Segment> =>
			change(async (transaction) => {
				const known = await selectSegment(transaction, accountId, id);
				if (changes.rule !== undefined && changes.rule !== known.rule) {
					await requireNoExperiment(transaction, accountId, id, now());
					await insertNote(transaction, accountId, `The rule of the segment ${id} was changed.`, now());
				}
				await transaction
					.updateTable('segment')
					.set(changes)
					.where(({ and }) => and({ account_id: accountId, id }))
					.execute();
				return { ...known, ...changes };
			}),

		/** @throws OperatorError where there is none, or an experiment needs it */
		deleteSegment: (accountId: number, id: string): Promise<void> =>
			change(async (transaction) => {
				await selectSegment(transaction, accountId, id);
				await requireNoExperiment(transaction, accountId, id, now());
				await transaction
					.deleteFrom('segment')
					.where(({ and }) => and({ account_id: accountId, id }))
					.execute();
				await insertNote(transaction, accountId, `The segment ${id} was deleted.`, now());
			}),
	};
}
