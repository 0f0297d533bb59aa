import type { Segment } from '../../domain/segment.ts';
import { OperatorError } from '../../errors.ts';
import { type ControlDatabase, type ControlTables, nextSeq } from './tables.ts';

/** Converts a row of `segment`. */
export function toSegment({ id, name, rule }: ControlTables['segment']): Segment {
	return { id, name, rule };
}

/** In order of creation. */
export async function selectSegments(database: ControlDatabase, accountId: number): Promise<Segment[]> {
	const rows = await database
		.selectFrom('segment')
		.selectAll()
		.where('account_id', '=', accountId)
		.orderBy('seq')
		.execute();
	return rows.map(toSegment);
}

/** @throws OperatorError where the account has a segment of that id */
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

/** Fields that are left out keep their value. @throws OperatorError where there is none */
export async function updateSegment(
	database: ControlDatabase,
	accountId: number,
	id: string,
	changes: Partial<Omit<Segment, 'id'>>,
): Promise<Segment> {
	const known = await selectSegment(database, accountId, id);
	await database
		.updateTable('segment')
		.set(changes)
		.where('account_id', '=', accountId)
		.where('id', '=', id)
		.execute();
	return { ...known, ...changes };
}

/** @throws OperatorError where there is none */
export async function selectSegment(
	database: ControlDatabase,
	accountId: number,
	id: string,
): Promise<Segment> {
	const segment = (await selectSegments(database, accountId)).find((known) => known.id === id);
	if (!segment)
		throw new OperatorError(`The account has no segment ${id}; 'caskade segment list AID' shows all.`);
	return segment;
}

/** @throws OperatorError where there is none */
export async function deleteSegment(database: ControlDatabase, accountId: number, id: string): Promise<void> {
	await selectSegment(database, accountId, id);
	await database.deleteFrom('segment').where('account_id', '=', accountId).where('id', '=', id).execute();
}
