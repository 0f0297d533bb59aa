import type { KnownAccount } from '../../core/store/control/control-store.ts';
import type { AccountRequest, ComputeInBackground, PageRequest } from '../../kit/console/page.ts';
import type { View } from '../../kit/console/view.ts';
import { calendarOf } from '../../kit/reports/calendar.ts';
import { type DayNote, dayNotes } from '../../kit/reports/day-notes.ts';
import { FairQueue } from '../../kit/reports/fair-queue.ts';
import { reportedAccount } from '../../kit/reports/report-query.ts';
import type { ConsoleOptions } from './console-options.ts';
import { untilDue } from './in-time.ts';
import { KeptAnswers } from './kept-answers.ts';

/** Of one account. They are made one at a time. */
const maxWaitingReports = 100;
/** The part of the time for a page, from the request on, for what it can be without. */
const soonPart = 4;

/** What a page of an account has besides what every page has. */
export type OfAccount = (
	account: KnownAccount,
	view: View,
) => Omit<AccountRequest, Exclude<keyof PageRequest, 'account'>>;

/** Makes the figures that pages of accounts ask for, in turns of accounts, and keeps them for a while. @param signal ends what is being made */
export function accountFigures(
	{ store, parts, compute, monotonicMs }: ConsoleOptions,
	waitMs: number,
	signal: AbortSignal,
): OfAccount {
	const kept = new KeptAnswers(monotonicMs);
	const making = new FairQueue<number>(maxWaitingReports);
	return (account, view) => {
		const beganMs = monotonicMs();
		const calendar = calendarOf(view.timezone);
		let notes: Promise<DayNote[]> | undefined;
		const reported = reportedAccount(account);
		const { models, goals } = account;
		const inTurn: ComputeInBackground = (job) =>
			making.run(account.id, signal, () => compute(job, { signal, isKept: true }));
		return {
			account,
			view,
			calendar,
			dayNotes: () => (notes ??= dayNotes(store.control, account.id, calendar)),
			report: (query) =>
				kept.value(['report', reported, query], async () =>
					JSON.parse(await inTurn({ type: 'report', account: reported, query })),
				),
			computed: (job) => kept.value([job, models, goals], () => inTurn(job)),
			attention: async (asked) =>
				(await Promise.all(parts.map((part) => part.attention?.(asked) ?? []))).flat(),
			kept: (key, make) => kept.value([account.id, key], make),
			soon: (making) => untilDue(making, Math.max(0, beganMs + waitMs / soonPart - monotonicMs())),
		};
	};
}
