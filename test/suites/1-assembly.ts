import { runTests } from '../suites.ts';

await runTests('assembly/**/*.test.ts');
