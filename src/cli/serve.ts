import { Command, type ServeSettings, serveOptions } from '../config.ts';
import { openStore } from '../store/open.ts';
import { printLine } from './output.ts';

export function serveCommand(): Command {
	const command = new Command('serve')
		.summary('run the service')
		.description(
			`Run the service until SIGTERM or SIGINT. Then it stops accepting, answers what is in flight, and exits 0;
a second signal ends it at once. What it has answered with 201 survives any end, kill -9 included.

  POST /subscription      upload subscription events
  GET  /docs              the HTTP reference for people; /openapi.json for programs
  GET  /healthz /readyz   the process answers; requests may be sent here

One server runs on a data folder at a time. Logs are JSON lines on standard error.`,
		)
		.action(serve);
	for (const option of serveOptions()) command.addOption(option);
	return command;
}

async function serve(settings: ServeSettings): Promise<void> {
	const [{ startServer }, { createLog }] = await Promise.all([import('../server.ts'), import('../log.ts')]);
	const log = createLog(settings.logLevel);
	const store = await openStore(settings.database);
	const server = await startServer(store, settings, log, (error) => {
		log.fatal({ reason: error.message }, 'the writer thread died');
		process.exit(1);
	}).catch(async (error) => {
		await store.close();
		throw error;
	});
	stopOnSignals(server.stop, log);
	log.info({ url: server.url }, 'listening');
	printLine(`Caskade serves at ${server.url} (reference: ${server.url}/docs). Stop it with Ctrl+C.`);
	if (settings.demo && !(await store.control.hasClients())) {
		const { createDemo } = await import('./demo.ts');
		printLine(await createDemo(store, server));
	}
}

function stopOnSignals(
	stop: () => Promise<void>,
	log: { info: (fields: object, message: string) => void },
): void {
	let stopping = false;
	const onSignal = async (signal: NodeJS.Signals) => {
		if (stopping) process.exit(1);
		stopping = true;
		log.info({ signal }, 'stopping');
		await stop();
		log.info({}, 'stopped');
		process.exit(0);
	};
	process.on('SIGTERM', onSignal);
	process.on('SIGINT', onSignal);
}
