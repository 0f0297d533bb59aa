import { runTests } from '../suites.ts';

await runTests('core/collect/*.test.ts');
