import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serve } from '../src/assembly/serve.ts';
import { createLog } from '../src/core/log.ts';

/** The answer of a server of this repository to `GET /openapi.json`. */
export async function documentOfServer(): Promise<unknown> {
	const folder = mkdtempSync(join(tmpdir(), 'caskade-client-'));
	try {
		const settings = { database: `sqlite:${folder}`, host: '127.0.0.1', port: 0, metricsHost: '127.0.0.1' };
		const onDeath = (error: Error) => {
			throw error;
		};
		const server = await serve(settings, { log: createLog('error'), onDeath, background: 'none' });
		const document = await (await fetch(`${server.url}/openapi.json`)).json();
		await server.stop();
		return document;
	} finally {
		rmSync(folder, { recursive: true, force: true });
	}
}
