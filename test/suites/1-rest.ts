import { runTests } from '../suites.ts';

await runTests('!(api|cli|collect|http|jobs|scoring|store)/**/*.test.ts');
