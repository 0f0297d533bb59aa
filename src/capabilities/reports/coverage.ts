import { compareTexts } from '../../core/domain/compare-texts.ts';
import { maxSharing } from '../../core/domain/shared-key.ts';
import { hasLabels } from '../../core/domain/subscription-event.ts';
import { OperatorError } from '../../core/errors.ts';
import { counted, formatNumber, formatShare, listed } from '../../core/format/numbers.ts';
import { withoutHidden } from '../../kit/format/hidden-characters.ts';
import { claimedEvents } from '../../kit/reading/claimed-events.ts';
import type { JourneyEvent } from '../../kit/reading/journey-events.ts';
import { type UnjoinableKey, unjoinableKeysOfEvents } from '../../kit/reading/missing-keys.ts';
import { requireExactSums } from '../../kit/reports/exact-sums.ts';
import { isIn, type Terms } from '../../kit/reports/journey.ts';
import { readEvents, readsAll } from '../../kit/reports/read-journeys.ts';
import { headed, reportThat } from '../../kit/reports/report.ts';
import { commonParameters } from '../../kit/reports/report-query.ts';
import { bars } from '../../kit/reports/report-rows.ts';
import { unknownNames } from './unknown-names.ts';

const joins = ['tid', 'cid', 'subid', 'unjoined', 'claimed'] as const;
const columns = ['events', ...joins, ...joins.map((join) => `${join}Pence` as const)] as const;

/** Events by how they were joined. */
type Coverage = Record<(typeof columns)[number], number>;

type CoveredEvent = Pick<JourneyEvent, 'id' | 'atMs' | 'evt' | 'revenuePence' | 'vid' | 'named'>;

/**
 * Counts how events were joined, which explains the size of `(none)` in other reports.
 * @param claimed the ids of those that only a claim joins
 */
export function describeCoverage(
	events: readonly CoveredEvent[],
	{ period, calendar }: Pick<Terms, 'period' | 'calendar'>,
	claimed: ReadonlySet<number>,
) {
	const rows = new Map<string, Coverage & { month: string; evt: string }>();
	for (const { id, atMs, evt, revenuePence, vid, named } of events) {
		if (!isIn(period, atMs)) continue;
		const month = calendar.monthOf(atMs);
		const begin = () => ({ month, evt, ...totalCoverage([]) });
		const row = rows.getOrInsertComputed(`${month} ${evt}`, begin);
		const joinedBy = vid === null ? 'unjoined' : (['subid', 'cid', 'tid'] as const)[named];
		row.events++;
		row[joinedBy]++;
		row[`${joinedBy}Pence`] += revenuePence;
		if (!claimed.has(id)) continue;
		row.claimed++;
		row.claimedPence += revenuePence;
	}
	return [...rows].sort(([a], [b]) => compareTexts(a, b)).map(([, row]) => row);
}

function totalCoverage(rows: readonly Coverage[]): Coverage {
	const sums = columns.map((column) => [column, rows.reduce((sum, row) => sum + row[column], 0)]);
	return Object.fromEntries(sums);
}

/** A sentence on keys that join nobody. */
function namedUnjoinable(keys: readonly UnjoinableKey[]): string[] {
	const reasons = [
		['missing', 'Some ids are placeholders for a missing one'],
		[
			'shared',
			`Some ids are shared by more than ${formatNumber(maxSharing)} visitors, subscriptions or customers`,
		],
	] as const;
	return reasons.flatMap(([why, reason]) => {
		const named = keys
			.filter((key) => key.why === why)
			.map(({ field, value, events }) => `${counted(events, 'event')} with the ${field} '${value}'`);
		if (named.length === 0) return [];
		return [
			withoutHidden(
				`${reason}, so they join nobody: ${listed(named)}. Send no cid where there is none, and a tid and a subid of its own with each sale.`,
			),
		];
	});
}

export const coverageReport = reportThat({
	kind: 'coverage',
	title: 'Coverage',
	summary: 'how many events are matched to a visitor',
	definition:
		'By month and `evt`, or in one row with `none`: events and their amounts, by what matched them to a visitor: `tid`, `cid`, `subid`, or nothing (`unjoined`); and the matched ones that no signature proves (`claimed`).',
	parameters: [...commonParameters, 'by'],
	check({ by }) {
		if (by && by.length > 0)
			throw new OperatorError('coverage is always by month and evt; use none for one row.');
	},
	async make({ query, period, calendar, asOfMs, read }) {
		const all = await read(readEvents);
		requireExactSums(all.map(({ revenuePence }) => revenuePence));
		const events = all.filter((event) => hasLabels(event, query));
		const claimed = await read((options) => claimedEvents(all, { asOfMs, isWhole: readsAll(options) }));
		const rows = describeCoverage(events, { period, calendar }, claimed);
		const unjoinable = await read(() => unjoinableKeysOfEvents({ ...period, asOfMs }));
		const warnings = [...unknownNames({ events: all, paths: [] }, query), ...namedUnjoinable(unjoinable)];
		return { rows: query.by.length === 0 ? [totalCoverage(rows)] : rows, warnings };
	},
	answer({ rows }) {
		const { events, unjoined, claimed } = totalCoverage(rows);
		if (events === 0) return null;
		const proven =
			claimed === 0
				? ''
				: ` ${formatNumber(claimed)} of the matches ${claimed === 1 ? 'is' : 'are'} proven by nothing.`;
		return unjoined === 0
			? `Every event is matched to a visitor, ${formatNumber(events)} in all.${proven}`
			: `${formatNumber(unjoined)} of ${counted(events, 'event')} (${formatShare(unjoined / events)}) could not be matched to a visitor, so no channel gets credit for ${unjoined === 1 ? 'it' : 'them'}.${proven}`;
	},
	columns: {
		...headed({ tid: 'matched by transaction', cid: 'by customer id', subid: 'by subscription' }),
		unjoined: { heading: 'no visitor' },
		claimed: { heading: 'only claimed', hidesZero: true },
		tidPence: { heading: 'matched by transaction', hidesZero: true },
		cidPence: { heading: 'by customer id', hidesZero: true },
		subidPence: { heading: 'by subscription', hidesZero: true },
		unjoinedPence: { heading: 'no visitor', hidesZero: true },
		claimedPence: { heading: 'only claimed', hidesZero: true },
	},
	draw: (_, table) => bars(table, 'events', { title: 'Events' }),
});
