import { runTests } from '../suites.ts';

await runTests('{client,docs,histories,street,core/{access,domain,format,schema,segments}}/**/*.test.ts');
