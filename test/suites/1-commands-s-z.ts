import { runTests } from '../suites.ts';

await runTests('capabilities/*/commands/[s-z]*.test.ts');
