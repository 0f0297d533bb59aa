import { runTests } from '../suites.ts';

await runTests('api/{*,!(hit*|subscription)/*}.test.ts');
