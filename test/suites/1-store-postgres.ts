import { quick } from '../quick.ts';
import { runTests } from '../suites.ts';

// What only PostgreSQL does, and takes long: locks, other servers, certificates, clusters.
if (!quick) await runTests('core/store/postgres/**/*.test.ts');
