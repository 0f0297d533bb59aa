import { runTests } from '../suites.ts';

await runTests('store/{*,sqlite/*}.test.ts');
