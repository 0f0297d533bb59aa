import { runTests } from '../suites.ts';

await runTests('api/hit*/*.test.ts');
