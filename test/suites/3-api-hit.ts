import { runTests } from '../suites.ts';

await runTests('core/api/hit*/*.test.ts');
