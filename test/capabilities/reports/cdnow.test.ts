import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { storeHistory } from '../../../src/capabilities/history/store/past-history.ts';
import { lifetimeValueReport } from '../../../src/capabilities/reports/lifetime-value.ts';
import { runReport } from '../../../src/capabilities/reports/run-report.ts';
import { queryOf } from '../../../src/kit/reports/report-query.ts';
import { addAccount, openFor } from '../../core/store/engines.ts';
import { temporaryFolder } from '../../support.ts';
import { assertAsAwkSays, cdnowEnd, cdnowEvents, cdnowSample } from './cdnow.ts';

test('cohorts of a tenth of CDNOW match those of a script over the raw file', {
	skip: !existsSync(cdnowSample) && `${cdnowSample} is missing`,
}, async (t) => {
	const store = await openFor(t, `sqlite:${join(temporaryFolder(t), 'data')}`);
	const id = await addAccount(store, 'c-a-cdnow');
	const events = cdnowEvents(cdnowSample).map(({ at, ...event }) => ({
		...event,
		cid: null,
		evt: 'purchase',
		receivedAtMs: Date.parse(at),
	}));
	for (let from = 0; from < events.length; from += 1000)
		await store.transact(id, () => storeHistory([], events.slice(from, from + 1000)));
	const query = queryOf(lifetimeValueReport, { by: [], months: 1200, asOf: Date.parse(cdnowEnd) });
	const account = {
		id,
		aid: 'c-a-cdnow',
		timezone: 'UTC',
		paymentProviders: [],
		renewalDays: {},
		graceDays: {},
		cancellationEvt: null,
		currency: 'GBP',
	};
	const { rows } = await runReport(store, account, query);
	assert.equal(assertAsAwkSays(cdnowSample, rows), 18 + 17 + 16);
});
