import { runTests } from '../suites.ts';

await runTests('collect/*.test.ts');
