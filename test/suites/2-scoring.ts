import { runTests } from '../suites.ts';

await runTests('{core/{jobs,scoring}/**,capabilities/{training,training/!(commands)/**}}/*.test.ts');
