import { runTests } from '../suites.ts';

await runTests('{jobs,scoring}/*.test.ts');
