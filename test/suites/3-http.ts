import { runTests } from '../suites.ts';

await runTests('core/http/*.test.ts');
