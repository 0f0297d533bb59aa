import type { Query } from '../steps.ts';

/**
 * Leaves work to the background. `c:…` and `s:…`: events of a customer id, or of a subscription, are to be given to whom they
 * belong. `e:…`: a visitor is being erased. `v:…`: visitors after this `vid` are to be made anew.
 */
export function addTasks(names: readonly string[]): Query {
	return {
		sql: 'INSERT INTO @task (name, position) ?rows /* add tasks */',
		rows: names.map((name) => [name, 0]),
		wakes: true,
	};
}
