import { type Reading, type Select, type Stream, tuplesOf, type Value } from '../../core/store/steps.ts';

/** Rows of a page; bounds memory. */
export const pageRows = 5000;

/** Names in one statement. */
export const maxNames = 1000;

type ToSelect<Given> = (given: Given) => Pick<Select, 'sql' | 'values'>;

/** Passes on rows that are tuples, one by one. */
export function each<Tuple extends readonly Value[]>(take: (row: Tuple) => void): Stream['take'] {
	return (rows) => {
		for (const row of tuplesOf<Tuple>(rows)) take(row);
	};
}

/** Reads pages of rows, each after the last row of the page before. */
export function* inPages<Tuple extends readonly Value[]>(
	query: ToSelect<Tuple | undefined>,
	take: (row: Tuple) => void,
): Reading<void> {
	yield [
		{
			next: (before) => {
				if (before && before.length < pageRows) return undefined;
				return { ...query(tuplesOf<Tuple>(before).at(-1)), asTuples: true };
			},
			take: each(take),
		},
	];
}

/** Reads the rows of many names, a page of names at a time: of several queries, beside each other. */
export function* forNames(
	names: readonly string[],
	queries: readonly ToSelect<readonly string[]>[],
	take: Stream['take'],
): Reading<void> {
	yield queries.map((query) => {
		let from = 0;
		return {
			next: () => {
				if (from >= names.length) return undefined;
				const some = names.slice(from, from + maxNames);
				from += maxNames;
				return { ...query(some), asTuples: true as const };
			},
			take,
		};
	});
}
