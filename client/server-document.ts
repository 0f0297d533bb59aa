import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLog } from '../src/log.ts';
import { startServer } from '../src/server.ts';
import { openStore } from '../src/store/open.ts';

/** The answer of a server of this repository to `GET /openapi.json`. */
export async function documentOfServer(): Promise<unknown> {
	const folder = mkdtempSync(join(tmpdir(), 'caskade-client-'));
	try {
		const store = await openStore(`sqlite:${folder}`);
		const settings = { host: '127.0.0.1', port: 0, metricsHost: '127.0.0.1' };
		const server = await startServer(store, settings, createLog('error'), (error) => {
			throw error;
		});
		const document = await (await fetch(`${server.url}/openapi.json`)).json();
		await server.stop();
		return document;
	} finally {
		rmSync(folder, { recursive: true, force: true });
	}
}
