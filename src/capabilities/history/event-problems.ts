import { eventProblems } from '../../core/schema/subscription-request.ts';

export const wholeMinorUnits = 'an integer, in whole pence or cents, for example 499';

/**
 * Lists every problem of an event in a file. Answers over HTTP, whose texts are promised, say less about revenue.
 * @param revenue what `rvn` must be
 */
export function fileEventProblems(event: object, revenue = wholeMinorUnits): string[] {
	return eventProblems(event, '').map((problem) =>
		problem.startsWith('rvn must be ') ? `rvn must be ${revenue}` : problem,
	);
}
