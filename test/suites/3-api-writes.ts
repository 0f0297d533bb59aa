import { runTests } from '../suites.ts';

await runTests('core/api/{hit*,subscription}/*.test.ts');
