import { runTests } from '../suites.ts';

await runTests('cli/[s-z]*.test.ts');
