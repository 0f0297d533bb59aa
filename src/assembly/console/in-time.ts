import type { ConsoleAnswer } from '../../kit/console/exchange.ts';
import { type Frame, pageAnswer } from '../../kit/console/layout.ts';

/** A page that is being made is asked for again after so long. */
const busyMs = 1000;

/** @returns undefined where it takes longer; it goes on, and its figures are kept */
export async function untilDue<Made>(making: Promise<Made>, waitMs: number): Promise<Made | undefined> {
	const { promise, resolve } = Promise.withResolvers<undefined>();
	const timer = setTimeout(() => resolve(undefined), waitMs);
	try {
		return await Promise.race([making, promise]);
	} finally {
		clearTimeout(timer);
		making.catch(() => {});
	}
}

/**
 * A page that the browser asks for again after a second. The header `Refresh` says so, not the markup, in which a checker
 * of accessibility cannot tell a page that is being made from one that never stands still.
 */
export function shownAgain(frame: Frame): ConsoleAnswer {
	const { headers, ...rest } = pageAnswer(200, { ...frame, isBusy: true });
	return { ...rest, headers: { ...headers, refresh: String(busyMs / 1000) }, againAfterMs: busyMs };
}
