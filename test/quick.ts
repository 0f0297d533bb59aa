/** Whether this is `npm test`, which leaves out what takes long. A file that is run by itself leaves out nothing. */
export const quick = process.env.TEST_QUICK !== undefined;

/** For the `skip` of a test that takes long: it kills, fills, waits, or starts several processes. */
export const takesLong = quick && 'takes long: npm run test:all runs it';

/** Some of what is alike: in `npm test` one of so many. */
export function some<T>(alike: readonly T[], oneOf: number): readonly T[] {
	return quick ? alike.filter((_, place) => place % oneOf === 0) : alike;
}

/** How many examples of a property are tried: in `npm test` a tenth, yet at least three. */
export function examples(all: number): number {
	return quick ? Math.min(all, Math.max(3, Math.ceil(all / 10))) : all;
}
