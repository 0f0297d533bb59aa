import { runTests } from '../suites.ts';

await runTests('cli/[a-c]*.test.ts');
