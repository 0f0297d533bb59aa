import { test } from 'node:test';
import { installedPostgresDatabase } from '../core/store/postgres-server.ts';
import { rollingRestarts } from './rolling-restart.ts';

test('two servers are restarted in turn under load: every request is answered 201, and stored once', async (t) => {
	const { uploads } = await rollingRestarts({
		address: await installedPostgresDatabase(),
		balancer: 'checking 10 times a second',
		drainDelayMs: 2000,
		rounds: 1,
		onRestart: (number, stoppedInMs) => t.diagnostic(`server ${number + 1} stopped in ${stoppedInMs} ms`),
	});
	t.diagnostic(`${uploads} uploads`);
});
