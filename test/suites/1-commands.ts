import { runTests } from '../suites.ts';

await runTests('capabilities/*/commands/[a-cs-z]*.test.ts');
