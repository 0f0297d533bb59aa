import type { Query } from '../steps.ts';

/**
 * Queues work for the background. `c:…` and `s:…`: assign the events of a customer id, or of a subscription, to their
 * owners. `e:…`: erase a visitor. `v:…`: rebuild the visitors after this `vid`.
 */
export function addTasks(names: readonly string[]): Query {
	return {
		sql: 'INSERT INTO @task (name, position) ?rows /* add tasks */',
		rows: names.map((name) => [name, 0]),
		wakes: true,
	};
}
