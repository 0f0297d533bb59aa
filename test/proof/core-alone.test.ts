import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProjectPart } from '../alone.ts';

/** What the core promises, and the tests that show it. */
const promised = [
	'test/core/api/subscription/201.test.ts',
	'test/core/api/subscription/400.test.ts',
	'test/core/api/hit/200.test.ts',
	'test/core/api/visscores/200.test.ts',
	'test/core/api/segments/200.test.ts',
	'test/core/api/tag.test.ts',
	'test/core/collect/tag.test.ts',
	'test/core/store/contract.test.ts',
	'test/core/store/contract/uploads.ts',
	'test/core/store/contract/doors.ts',
	'test/core/store/contract/quota.ts',
];

test('the core runs alone: without capabilities, kit and assembly its tests pass, on both engines', async (t) => {
	const core = new ProjectPart(t);
	core.delete('src/capabilities', 'src/kit', 'src/assembly');
	core.delete(...core.files('test/!(core|suites|proof)/'), ...core.files('test/*.test.ts'));
	const files = core.pruneTests('test/core/**/*.test.ts', false);
	const left = new Set(core.files('test/core/**/*.ts'));
	for (const file of promised) assert.ok(left.has(file), `${file} needs more than the core`);
	assert.ok(files.length > 110, `only ${files.length} tests need no more than the core`);
	const all = await core.test(core.files('test/suites/{1-rest,1-store,2-,3-}*.ts'), { TEST_QUICK: '1' });
	assert.equal(all.code, 0, all.stdout + all.stderr);
	const api = core.files('test/suites/3-api*.ts');
	const onPostgres = await core.test(api, { TEST_QUICK: '1', TEST_SHARED_SERVER: 'postgres' });
	assert.equal(onPostgres.code, 0, onPostgres.stdout + onPostgres.stderr);
});
