import { runTests } from '../suites.ts';

await runTests('core/api/subscription/*.test.ts');
