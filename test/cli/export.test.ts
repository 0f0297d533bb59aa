import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { caskade, caskadeJson } from '../process.ts';
import { temporaryFolder } from '../support.ts';

test('what export prints, imported into an empty account, gives the same reports', async (t) => {
	const folder = temporaryFolder(t);
	const at = ['--database', `sqlite:${folder}`];
	await caskade(['demo', 'c-a-first', '--visitors', '120', '--days', '90', ...at]);
	await caskade(['account', 'create', 'c-a-second', '--client', 'copy', ...at]);
	const { stdout, code } = await caskade(['export', 'c-a-first', ...at]);
	assert.equal(code, 0);
	const file = join(folder, 'export.ndjson');
	writeFileSync(file, stdout);
	const imported = await caskade(['import', 'c-a-second', file, ...at]);
	assert.equal(imported.code, 0, imported.stderr);
	const asOf = new Date().toISOString().slice(0, 10);
	for (const kind of ['attribution', 'paths', 'ltv', 'renewals', 'coverage']) {
		const [first, second] = await Promise.all(
			['c-a-first', 'c-a-second'].map((aid) =>
				caskadeJson([
					'report',
					kind,
					aid,
					'--as-of',
					asOf,
					...(kind === 'attribution' ? ['--model', 'all'] : []),
					...at,
				]),
			),
		);
		assert.deepEqual({ ...(second as object), aid: 0 }, { ...(first as object), aid: 0 }, kind);
		assert.ok((first as { rows: unknown[] }).rows.length > 0, kind);
	}
});
