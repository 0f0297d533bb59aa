import { runTests } from '../suites.ts';

await runTests('store/{!(contract),sqlite/*}.test.ts');
