import { runTests } from '../suites.ts';

await runTests('http/*.test.ts');
