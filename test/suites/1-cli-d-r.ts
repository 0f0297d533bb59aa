import { runTests } from '../suites.ts';

await runTests('cli/[d-r]*.test.ts');
