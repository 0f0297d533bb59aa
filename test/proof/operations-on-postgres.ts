/** For `npm run proof:postgres-versions`: the tests of operations on the server that tests share, in one process. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { testFiles } from '../suites.ts';

for (const file of testFiles('api/**/*.test.ts')) {
	const path = join(import.meta.dirname, '..', file);
	if (readFileSync(path, 'utf8').includes('/shared-server.ts')) await import(path);
}
