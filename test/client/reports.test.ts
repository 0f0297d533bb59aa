import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reportKinds } from '../../client/src/api-types.ts';
import { ForbiddenError, InvalidRequestError } from '../../client/src/index.ts';
import { some } from '../quick.ts';
import { startService } from '../support.ts';
import { clientOf, newsletters } from './client.ts';

test('reports are read with a key that may read, and their parameters reach the server', async (t) => {
	const service = await startService(t);
	const { aid, store } = service;
	await clientOf(service).subscriptions.upload(aid, newsletters(3));
	const { client } = await store.control.account(aid);
	const { key } = await store.control.issueKey(client, 'standard', { scope: 'read' });
	await service.server.directory.refresh();
	const { reports } = clientOf({ url: service.url, key }, { timeoutMs: 60_000 });
	const coverage = await reports.coverage(aid, { timezone: 'Europe/London', evt: undefined });
	assert.equal(coverage.aid, aid);
	assert.equal(coverage.timezone, 'Europe/London');
	assert.ok(coverage.rows.length > 0);
	// Of the server all are shown by `test/capabilities/reports/operations`.
	for (const kind of new Set([...some(reportKinds, 8), 'threshold'] as const))
		if (kind === 'threshold') assert.deepEqual((await reports.threshold(aid, { cost: '30' })).rows, []);
		else assert.ok(Array.isArray((await reports[kind](aid, { asOf: coverage.asOf })).rows), kind);
	await assert.rejects(reports.ltv(aid, { from: '2026-02-30' }), (error) => {
		assert.ok(error instanceof InvalidRequestError);
		assert.match(error.message, /from: 2026-02-30 is not a date/);
		return true;
	});
	await assert.rejects(clientOf(service).reports.coverage(aid), ForbiddenError);
});
