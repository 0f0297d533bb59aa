import { spawn } from 'node:child_process';
import cluster from 'node:cluster';
import { resolve } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import type { Command } from 'commander';
import { OperatorError } from '../../core/errors.ts';
import { collectGarbage } from '../../core/garbage.ts';
import type { Log } from '../../core/log.ts';
import { commit, version } from '../../core/version.ts';
import { command } from '../../kit/cli/command.ts';
import { ignoreBrokenPipe, place, printLine } from '../../kit/cli/output.ts';
import { pageOpener, type ServeSettings, serveOptions } from '../../kit/config.ts';
import type { ServerSettings, Serving } from '../serve.ts';
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
	ignoreBrokenPipe();
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
	const link = settings.demo ? await offerDemo(server, settings.database, place(own)) : undefined;
	if (settings.open) openConsole(link ?? consoleUrl);
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
	for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, onStop);
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
	if (settings.demo && cluster.worker?.id === 1) await offerDemo(server, settings.database, place(own));
}

const defaultConsolePort = 8081;

async function start(settings: ServerSettings, log: Log, background: 'all' | 'shared'): Promise<Serving> {
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

/**
 * @param at the flags by which a command finds the same data
 * @returns a link that signs in to the console
 */
async function offerDemo(
	{ store, directory, url, consoleUrl }: Serving,
	database: string,
	at: string,
): Promise<string | undefined> {
	const { demoAid, demoLink, demoPerson, openDemoAccount, uploadLine } = await import(
		'../../capabilities/demo/demo-account.ts'
	);
	if (!(await store.control.hasClients())) {
		const { account, key } = await openDemoAccount(store, demoAid);
		await directory.refresh();
		const [, folder] = /^sqlite:(.*)/.exec(database) ?? [];
		const place = folder === undefined ? '' : ` All data is in ${resolve(folder)}.`;
		if (key)
			printLine(`
There were no clients yet, so there is now a client '${account.client}' with the account ${demoAid}.${place}
Upload an event to it from another terminal (the key is shown this once):

${uploadLine(url, demoAid, key)}

Make up visitors to score: bin/caskade demo${at}`);
	}
	if (consoleUrl === undefined) return undefined;
	const link = await demoLink(store, new URL(consoleUrl).origin);
	if (link)
		printLine(`
See it in the console. This link signs you in once, within 15 minutes; for another: bin/caskade user link ${demoPerson}${at}

${link}
`);
	return link;
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
