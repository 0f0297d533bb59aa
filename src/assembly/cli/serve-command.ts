import { spawn } from 'node:child_process';
import cluster from 'node:cluster';
import { setFlagsFromString } from 'node:v8';
import type { Command } from 'commander';
import { OperatorError } from '../../core/errors.ts';
import { collectGarbage } from '../../core/garbage.ts';
import type { Log } from '../../core/log.ts';
import type { RunningServer } from '../../core/serve-store.ts';
import { commit, version } from '../../core/version.ts';
import { command } from '../../kit/cli/command.ts';
import { ignoreLostOutput, place, printLine } from '../../kit/cli/output.ts';
import { pageOpener, type ServeSettings, serveOptions } from '../../kit/config.ts';
import type { ServerSettings } from '../serve.ts';
import { stopSignals } from './stop-signals.ts';
import type { FromWorker, ToWorker } from './worker-messages.ts';

export const serveCommand = command('serve', 'run the service')
	.description(
		`Run the service until SIGTERM or SIGINT. Then /readyz answers 503. After --drain-delay-ms the service accepts no more
connections, answers what is in flight, and exits with code 0. A second signal ends it at once. What it has answered with
201 survives any end, kill -9 included.

  POST /subscription      upload subscription events
  GET  /docs/             the documentation; /docs/api and /openapi.json, the HTTP reference
  GET  /healthz /readyz   the process is alive; it is ready for requests

Only one server can run on a data folder at a time; on PostgreSQL any number can. --workers
lets a server use several cores of this machine there. Logs are JSON lines on standard error.`,
	)
	.with<ServeSettings>((own) => {
		for (const option of serveOptions()) own.addOption(option);
	})
	.action(runServer);

/**
 * How much the heap of a thread may grow, in percent of what is in use, before all of it is collected. By default it may
 * reach several times as much, and requests under way leave much behind that lives only a little longer than they do.
 */
const heapGrowingPercent = 50;

async function runServer(settings: ServeSettings, own: Command): Promise<void> {
	setFlagsFromString(`--heap-growing-percent=${heapGrowingPercent}`);
	// What is made for a request is of no use after it. V8 would take it for long-lived where much of it survives while the young
	// generation is still small, and never change its mind: most of each request then waits for a collection of everything.
	setFlagsFromString('--no-allocation-site-pretenuring');
	ignoreLostOutput();
	const { createLog } = await import('../../core/log.ts');
	const log = createLog(settings.logLevel);
	if (cluster.isWorker) return serveAsWorker(settings, log.child({ worker: cluster.worker?.id }), own);
	if (settings.workers > 1) {
		if (settings.database.startsWith('sqlite:'))
			throw new OperatorError(
				"--workers needs PostgreSQL: one process serves a data folder. Move to PostgreSQL with 'caskade copy', or leave --workers out.",
			);
		if (settings.open) throw new OperatorError('--open is for one process: leave --workers out.');
		const { runWorkers } = await import('./workers.ts');
		return runWorkers(settings, log);
	}
	const server = await start(settings, log, 'all');
	stopOnSignals(() => server.stop(), log);
	const { url, consoleUrl } = server;
	log.info({ url, consoleUrl, version, commit, schemas: server.store.schemas }, 'listening');
	const shop = settings.demo ? `, demo: ${server.url}/demo/` : '';
	const pages = consoleUrl ? `, console: ${consoleUrl}` : '';
	printLine(`Caskade serves at ${url} (documentation: ${url}/docs/${shop}${pages}). Stop it with Ctrl+C.`);
	const page = await offered(server, settings, own);
	if (settings.open) openConsole(page ?? consoleUrl);
}

/** Runs one of several processes that share the port. The primary prints, and serves the metrics. */
async function serveAsWorker(settings: ServeSettings, log: Log, own: Command): Promise<void> {
	let stop = async () => {};
	let stopping = false;
	const onStop = async () => {
		if (stopping) return;
		stopping = true;
		log.info({}, 'stopping');
		await stop();
		log.info({}, 'stopped');
		process.exit(0);
	};
	// A supervisor may signal the whole process group. The primary messages this process anyway.
	for (const signal of stopSignals) process.on(signal, onStop);
	process.on('message', (message: ToWorker) => {
		if (message.type === 'stop') void onStop();
	});
	const { metricsPort: _, ...listenSettings } = settings;
	const server = await start(listenSettings, log, 'shared');
	stop = server.stop;
	log.info(
		{ url: server.url, pid: process.pid, version, commit, schemas: server.store.schemas },
		'listening',
	);
	const message: FromWorker = { type: 'serving', url: server.url };
	process.send?.(message);
	if (cluster.worker?.id === 1) await offered(server, settings, own);
}

const defaultConsolePort = 8081;

async function start(
	settings: ServerSettings,
	log: Log,
	background: 'all' | 'shared',
): Promise<RunningServer> {
	const { serve } = await import('../serve.ts');
	const onDeath = (error: Error) => {
		log.fatal({ reason: error.message }, 'cannot go on');
		process.exit(1);
	};
	const { consolePort = settings.port === 0 ? 0 : defaultConsolePort } = settings;
	const consoleIsOptional = settings.consolePort === undefined;
	const server = await serve({ ...settings, consolePort }, { log, onDeath, background, consoleIsOptional });
	collectGarbage();
	return server;
}

/** Says how to begin, and lets capabilities say what they offer. @returns the page to begin with, if one has any */
async function offered(
	{ url, consoleUrl, parts, store }: RunningServer,
	{ database }: ServeSettings,
	own: Command,
): Promise<string | undefined> {
	const at = place(own);
	let page: string | undefined;
	for (const part of parts) page = (await part.offer?.({ url, consoleUrl, database, flags: at })) ?? page;
	if (!(await store.control.hasClients()))
		printLine(`
There are no clients yet. To create one, with an account, a key to upload with, and somebody who may use the console:

bin/caskade account create c-a-acme-uk --client acme${at}
bin/caskade key issue --client acme${at}
bin/caskade user create you@example.com --role admin${at}
`);
	return page;
}

function openConsole(page: string | undefined): void {
	const [program, ...args] = pageOpener() ?? [];
	if (page === undefined) printLine('There is no console to open: its port is taken.');
	else if (program === undefined) printLine('There is no screen here on which the console could be opened.');
	else {
		const said = () => printLine(`The console could not be opened: there is no ${program}.`);
		spawn(program, [...args, page], { stdio: 'ignore', detached: true })
			.on('error', said)
			.unref();
	}
}

function stopOnSignals(stop: () => Promise<void>, log: Log): void {
	let stopping = false;
	const onSignal = async (signal: NodeJS.Signals) => {
		if (stopping && signal === 'SIGHUP') return;
		if (stopping) process.exit(1);
		stopping = true;
		log.info({ signal }, 'stopping');
		await stop();
		log.info({}, 'stopped');
		process.exit(0);
	};
	for (const signal of stopSignals) process.on(signal, onSignal);
}
