import { consoleParts } from '../src/assembly/capabilities.ts';

/** What there is of the console. */
export const parts = await consoleParts();

export const allPages = parts.flatMap(({ pages }) => pages);
