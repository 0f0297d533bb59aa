import { type Query, type Reading, type Steps, select, sql, values } from '../steps.ts';
import { unique } from '../unique.ts';

/**
 * Queues work for the background. `c:…`, `o:…` and `s:…`: assign the events of a customer id, of a visitor whose customers have
 * changed, or of a subscription, to their owners. `n:…`: take a key that too many share from its visitors. `f:…`: rebuild a visitor. `e:…`: erase a visitor. `v:…`: rebuild the visitors after this `vid`.
 *
 * Equal work waits once: what has not begun will do this, too. It cannot begin before this transaction ends, which locks it. What
 * has begun is locked by whoever does it.
 */
export function* addTasks(all: readonly string[]): Steps<void> {
	if (all.length === 0) return;
	const names = unique(all);
	const waiting =
		yield* sql`SELECT name FROM @task WHERE name IN ${names} AND position = 0 FOR UPDATE SKIP LOCKED /* waiting tasks */`;
	const known = new Set(waiting.map(({ name }) => String(name)));
	const rows = names.filter((name) => !known.has(name)).map((name) => [name, 0]);
	yield [{ ...sql`INSERT INTO @task (name, position) ${values(rows)} /* add tasks */`, wakes: true }];
}

/** The position of a task that this transaction is doing from its start. */
const begunPosition = -1;

/** To be called before tasks are done, which may queue the same again. */
export function beginTasks(ids: readonly number[]): Query {
	return move(ids, 0, begunPosition);
}

/** For those of them that were not done. */
export function leaveTasks(ids: readonly number[]): Query {
	return move(ids, begunPosition, 0);
}

function move(ids: readonly number[], from: number, to: number): Query {
	return sql`UPDATE @task SET position = ${to} WHERE position = ${from} AND id IN (SELECT column1 FROM (${values(ids.map((id) => [id]))}) AS moved) /* move tasks */`;
}

/** The last task, up to an id, that assigns events to their owners. */
export function* lastAssignment(untilId: number): Reading<number | null> {
	const [last] =
		yield* select`max(id) AS id FROM @task WHERE id <= ${untilId} AND (name >= 'c:' AND name < 'd' OR name >= 'n:' AND name < 'p' OR name >= 's:' AND name < 't') /* last assignment */`;
	return last?.id == null ? null : Number(last.id);
}
