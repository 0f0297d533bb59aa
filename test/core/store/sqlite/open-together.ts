/** Runs in a process of its own: on command, opens the data folder in its argument, and reports the result. */
import { once } from 'node:events';
import { SqliteStore } from '../../../../src/core/store/sqlite/sqlite-store.ts';

process.stdout.write('ready\n');
await once(process.stdin, 'data');
const store = new SqliteStore(process.argv[2] as string);
const plans = await store.control.plans();
await store.close();
process.stdout.write(`opened ${plans.length}\n`);
process.stdin.destroy();
