import cluster, { type Worker } from 'node:cluster';
import type { Server } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { Background } from '../../core/api/serving-part.ts';
import type { Log } from '../../core/log.ts';
import { printLine } from '../../kit/cli/output.ts';
import type { ServeSettings } from '../../kit/config.ts';
import { stopSignals } from './stop-signals.ts';
import type { FromWorker, ToWorker } from './worker-messages.ts';

/** Pause before a worker is replaced, so that one that cannot start is not restarted in a tight loop. */
const replaceAfterMs = 500;

/** Runs `settings.workers` processes that share the port, and replaces those that die, until a signal stops them. */
export async function runWorkers(settings: ServeSettings, log: Log): Promise<void> {
	const metricsServer = await listenForMetrics(settings);
	const workers = new Workers(log, metricsServer);
	workers.stopOnSignals();
	// One worker first: it migrates the databases, and an error at start is reported once.
	const url = await workers.start();
	if (url === undefined) return;
	const others = await Promise.all(Array.from({ length: settings.workers - 1 }, () => workers.start()));
	if (others.includes(undefined)) return;
	// Once on this machine, however many workers there are.
	const { startBackground } = await import('../jobs/start-background.ts');
	const { database, stage, nodeAddress, trainEvery: trainEveryMs } = settings;
	const work = { followsLog: false, keepsScores: true, trainEveryMs };
	workers.restartOnExit(startBackground({ database, stage, nodeAddress }, work, log));
	log.info({ url, workers: settings.workers }, 'listening');
	printLine(
		`Caskade serves at ${url} (documentation: ${url}/docs/) with ${settings.workers} workers. Stop it with Ctrl+C.`,
	);
}

async function listenForMetrics({ metricsHost, metricsPort }: ServeSettings): Promise<Server | undefined> {
	if (metricsPort === undefined) return undefined;
	const [{ serveSharedMetrics }, { portError }] = await Promise.all([
		import('../../core/metrics.ts'),
		import('../../core/listening.ts'),
	]);
	return serveSharedMetrics(metricsHost, metricsPort).catch(
		portError(metricsHost, metricsPort, '--metrics-port'),
	);
}

class Workers {
	readonly #log: Log;
	readonly #metricsServer: Server | undefined;
	readonly #running = new Set<Worker>();
	#restartsOnExit = false;
	#background: Background | undefined;
	#stopping = false;
	/** Not 0 if a worker could not start. */
	#exitCode = 0;

	constructor(log: Log, metricsServer: Server | undefined) {
		this.#log = log;
		this.#metricsServer = metricsServer;
	}

	/** @returns the address once the worker serves it; `undefined` if the worker exited before */
	start(): Promise<string | undefined> {
		const worker = cluster.fork();
		this.#running.add(worker);
		return new Promise((resolve) => {
			worker.on('message', (message: FromWorker) => {
				if (message.type === 'serving') resolve(message.url);
			});
			worker.on('exit', (code, signal) => {
				resolve(undefined);
				this.#ended(worker, code, signal);
			});
		});
	}

	/**
	 * From now on, replaces workers that exit. Before this call, an exit ends all of them.
	 * @param background what this process does for all workers
	 */
	restartOnExit(background: Background): void {
		this.#restartsOnExit = true;
		this.#background = background;
	}

	#ended(worker: Worker, code: number | null, signal: string | null): void {
		this.#running.delete(worker);
		if (this.#stopping) {
			if (this.#running.size === 0) this.#exit();
			return;
		}
		if (!this.#restartsOnExit) {
			// The worker printed the reason to standard error.
			this.#exitCode = code || 1;
			this.stop();
			return;
		}
		this.#log.error(
			{ worker: worker.id, pid: worker.process.pid, code, signal },
			'worker ended, starting another',
		);
		void this.#replace();
	}

	async #replace(): Promise<void> {
		await delay(replaceAfterMs);
		if (!this.#stopping) await this.start();
	}

	stopOnSignals(): void {
		const onSignal = (signal: NodeJS.Signals) => {
			if (this.#stopping && signal === 'SIGHUP') return;
			if (this.#stopping) {
				for (const worker of this.#running) worker.process.kill('SIGKILL');
				process.exit(1);
			}
			this.#log.info({ signal }, 'stopping');
			this.stop();
		};
		for (const signal of stopSignals) process.on(signal, onSignal);
	}

	stop(): void {
		this.#stopping = true;
		void this.#background?.stop();
		const message: ToWorker = { type: 'stop' };
		// A worker without a channel has died, and its exit event is about to arrive.
		for (const worker of this.#running) if (worker.isConnected()) worker.send(message);
		if (this.#running.size === 0) this.#exit();
	}

	#exit(): void {
		this.#metricsServer?.close();
		this.#metricsServer?.closeAllConnections();
		if (this.#exitCode === 0) this.#log.info({}, 'stopped');
		process.exit(this.#exitCode);
	}
}
