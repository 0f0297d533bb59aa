import { type HistoryEvent, storeHistory } from '../../../src/capabilities/history/store/past-history.ts';
import { runReport } from '../../../src/capabilities/reports/run-report.ts';
import type { HistoryHit } from '../../../src/core/domain/stored-hit.ts';
import { dayMs } from '../../../src/core/durations.ts';
import { foldAll } from '../../../src/core/store/fold-all.ts';
import type { OpenStore } from '../../../src/core/store/store.ts';
import { attributionModels } from '../../../src/kit/reports/attribution-model.ts';
import type { CourseSettings } from '../../../src/kit/reports/courses.ts';
import type { Report } from '../../../src/kit/reports/report.ts';
import { queryOf, type ReportQuery } from '../../../src/kit/reports/report-query.ts';
import { addAccount } from '../../core/store/engines.ts';
import { body } from '../../core/store/made-hits.ts';
import { reportOf } from '../../reports.ts';
import { day0Ms } from './made-up.ts';

export const nowMs = Date.UTC(2026, 11, 1);
export const vidOf = (visitor: number) => String(visitor).repeat(32);

export type Entry = ({ type: 'hit' } & HistoryHit) | ({ type: 'event' } & HistoryEvent);

/** A page view, `day` days after 1 January 2026. */
export function visit(visitor: number, day: number, tid: string | null, channel = 'email'): Entry {
	return {
		type: 'hit',
		vid: vidOf(visitor),
		sid: null,
		atMs: day0Ms + day * dayMs,
		body: body({ channel, events: tid === null ? [] : [{ name: 'order', tid }] }),
	};
}

export function sale(tid: string, subid: string, day: number, rvn: number, evt = 'newsletter'): Entry {
	return {
		type: 'event',
		tid,
		subid,
		cid: null,
		evt,
		rvn,
		receivedAtMs: day0Ms + day * dayMs,
	};
}

/** Adds an account and stores these entries one after another. */
export async function fill(store: OpenStore, aid: string, entries: readonly Entry[]): Promise<number> {
	const id = await addAccount(store, aid);
	await add(store, id, entries);
	return id;
}

export async function add(store: OpenStore, id: number, entries: readonly Entry[]): Promise<void> {
	for (const entry of entries)
		if (entry.type === 'hit') await store.transact(id, () => storeHistory([entry], []));
		else await store.transact(id, () => storeHistory([], [entry]));
	await foldAll(store, id);
}

export function report(
	store: OpenStore,
	id: number,
	kind: string,
	fields: Partial<ReportQuery> = {},
	{ graceDays = {}, cancellationEvt = null }: Partial<CourseSettings> = {},
): Promise<Report> {
	const model = kind === 'spend' ? (['linear'] as const) : attributionModels;
	const query = queryOf(reportOf(kind), { model, asOf: nowMs, ...fields });
	const account = {
		id,
		aid: 'c-a-acme-uk',
		timezone: 'UTC',
		paymentProviders: [],
		renewalDays: {},
		graceDays,
		cancellationEvt,
		currency: 'GBP',
	};
	return runReport(store, account, query);
}
