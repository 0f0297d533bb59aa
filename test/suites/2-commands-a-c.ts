import { runTests } from '../suites.ts';

await runTests('capabilities/*/commands/[a-c]*.test.ts');
