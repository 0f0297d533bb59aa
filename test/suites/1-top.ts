import { runTests } from '../suites.ts';

await runTests('*.test.ts');
