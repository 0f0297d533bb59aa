import { runTests } from '../suites.ts';

await runTests('{capabilities/!(training)/!(commands)/**,capabilities/!(training),kit/**}/*.test.ts');
