import { runTests } from '../suites.ts';

await runTests('capabilities/*/commands/[d-r]*.test.ts');
