import { runTests } from '../suites.ts';

await runTests('store/postgres/*.test.ts');
