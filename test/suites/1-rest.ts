import { runTests } from '../suites.ts';

await runTests('!(api|cli|collect|http|jobs|proof|scoring|store)/**/*.test.ts');
