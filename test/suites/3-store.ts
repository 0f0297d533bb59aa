import { runTests } from '../suites.ts';

await runTests('core/store/{!(contract),sqlite/**/*}.test.ts');
