import assert from 'node:assert/strict';
import { Command } from 'commander';
import { serve } from '../src/assembly/serve.ts';
import type { RunningServer } from '../src/core/serve-store.ts';
import { type ServeSettings, serveOptions } from '../src/kit/config.ts';
import { collectLog } from './support.ts';

/** A server in this process. It is stopped at the end of the block that declares it. */
export interface ServerHere extends RunningServer, AsyncDisposable {
	readonly port: number;
	/** Every line that was logged. */
	readonly logged: readonly string[];
	/** Uploads as a client does. */
	upload(key: string, body: unknown): Promise<Response>;
}

/**
 * Starts a server with flags of `caskade serve`, in a third of the time that a process takes. Tests of signals, of what
 * is printed, and of an end that is not asked for start a process (`ServeProcess`).
 */
export async function serveHere(flags: readonly string[]): Promise<ServerHere> {
	const command = new Command('serve');
	for (const option of serveOptions()) command.addOption(option);
	const settings: ServeSettings = command.parse(['--port', '0', ...flags], { from: 'user' }).opts();
	const logged: string[] = [];
	const onDeath = (error: Error) => assert.fail(error);
	const server = await serve(settings, { log: collectLog(logged), onDeath });
	return {
		...server,
		port: Number(new URL(server.url).port),
		logged,
		upload: (key, body) =>
			fetch(`${server.url}/subscription`, {
				method: 'POST',
				headers: { 'content-type': 'application/json', 'x-api-key': key },
				body: JSON.stringify(body),
			}),
		[Symbol.asyncDispose]: () => server.stop(),
	};
}
