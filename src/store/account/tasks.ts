import { type Query, type Reading, select, sql, values } from '../steps.ts';

/**
 * Queues work for the background. `c:…`, `o:…` and `s:…`: assign the events of a customer id, of a visitor whose customers have
 * changed, or of a subscription, to their owners. `n:…`: take a key that too many share from its visitors. `f:…`: rebuild a visitor. `e:…`: erase a visitor. `v:…`: rebuild the visitors after this `vid`.
 */
export function addTasks(names: readonly string[]): Query {
	const rows = names.map((name) => [name, 0]);
	return { ...sql`INSERT INTO @task (name, position) ${values(rows)} /* add tasks */`, wakes: true };
}

/** The last task, up to an id, that assigns events to their owners. */
export function* lastAssignment(untilId: number): Reading<number | null> {
	const [last] =
		yield* select`max(id) AS id FROM @task WHERE id <= ${untilId} AND (name >= 'c:' AND name < 'd' OR name >= 'n:' AND name < 'p' OR name >= 's:' AND name < 't') /* last assignment */`;
	return last?.id == null ? null : Number(last.id);
}
