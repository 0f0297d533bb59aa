import { runTests } from '../suites.ts';

await runTests('store/contract.test.ts');
