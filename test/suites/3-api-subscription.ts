import { runTests } from '../suites.ts';

await runTests('api/subscription/*.test.ts');
