import { runTests } from '../suites.ts';

await runTests('core/store/contract.test.ts');
