import { AccessDirectory } from './access/directory.ts';
import { QuotaCounter } from './access/quota.ts';
import { monotonicMs } from './clock.ts';
import { OperatorError } from './errors.ts';
import { readTls, type Tls } from './http/tls.ts';
import { type Log, throttledErrors } from './log.ts';
import { LogThrottle } from './log-throttle.ts';
import { Metrics, serveMetrics } from './metrics.ts';
import { type ListenSettings, listen } from './server/listen.ts';
import { portError } from './server/port.ts';
import type { ServingWriter, Store } from './store/store.ts';

export interface RunningServer {
	/** For example `http://127.0.0.1:8080` or `https://127.0.0.1:8443/api/staging`. */
	readonly url: string;
	readonly directory: AccessDirectory;
	/**
	 * Fails `/readyz` for the drain delay, then stops accepting connections, answers the requests in flight and closes
	 * everything. Repeated calls return the same promise.
	 * @param jobs ends when no background job uses the store any more. Only then is it closed: of two connections that
	 * close a database at the same moment, each leaves the write-ahead log to the other.
	 */
	stop(jobs?: Promise<unknown>): Promise<void>;
}

/** The background job that folds the log into profiles. */
export interface BackgroundFolding {
	/** Announces that an account has work waiting. */
	wake(accountId: number): void;
	/** Number of items waiting. */
	readonly waiting: number;
}

/** The background job that evaluates visitors for webhooks and delivers messages. */
export interface BackgroundWebhooks {
	/** Announces that visitors of an account may have changed. */
	wake(accountId: number): void;
	/** Starts the job once there are webhooks. */
	watch(hasWebhooks: () => boolean): void;
	/** Deliveries so far, and webhooks that were disabled because they failed. */
	readonly counts: { readonly delivered: number; readonly failed: number; readonly disabled: number };
}

/** The parts of a server other than its listening threads. */
interface Core {
	readonly tls: Tls | undefined;
	readonly metrics: Metrics;
	readonly logThrottle: LogThrottle;
	readonly writer: ServingWriter;
	readonly quota: QuotaCounter;
	readonly directory: AccessDirectory;
}

/**
 * Starts a server on a store, and closes the store when the server stops or cannot start.
 * @param onDeath called when nothing can be stored any more; the process should end
 * @param folding does background work; without it, other processes must
 * @param webhooks evaluates and delivers; without it, other processes must
 * @throws OperatorError if the store or a port is in use, or the address requires TLS
 */
export async function startServer(
	store: Store,
	settings: ListenSettings,
	log: Log,
	onDeath: (error: Error) => void,
	now: () => number = store.now,
	folding?: BackgroundFolding,
	webhooks?: BackgroundWebhooks,
): Promise<RunningServer> {
	await using starting = new AsyncDisposableStack();
	const core = await startCore(starting, { store, settings, log, onDeath, now, folding, webhooks });
	await listenForMetrics(starting, settings, () => core.metrics.text());
	const listener = await listen({
		...{ ...core, store, settings, log, now },
		onVisitorChange: (accountId) => webhooks?.wake(accountId),
	});
	const running = starting.move();
	const { directory } = core;
	return { url: listener.url, directory, stop: stopping(() => listener.stop(), running) };
}

/** @param starting disposed of in reverse order, when the server stops or cannot start */
async function startCore(
	starting: AsyncDisposableStack,
	options: {
		store: Store;
		settings: ListenSettings;
		log: Log;
		onDeath: (error: Error) => void;
		now: () => number;
		folding: BackgroundFolding | undefined;
		webhooks: BackgroundWebhooks | undefined;
	},
): Promise<Core> {
	const { store, settings, log, onDeath, now, folding, webhooks } = options;
	starting.defer(() => store.close());
	const tls = await readTls(settings);
	if (!tls) requireSafeAddress(settings);
	const metrics = new Metrics();
	const logThrottle = new LogThrottle(monotonicMs);
	const writer = await store.startWriting({
		onCommit: (group) => metrics.committed(group),
		onError: (database, reason) => {
			metrics.storeFailures.inc();
			logThrottle.log(`${database} ${reason}`, (fields) =>
				log.error({ database, reason, ...fields }, 'store error'),
			);
		},
		onWaiting: (accountId) => folding?.wake(accountId),
		onDeath,
	});
	starting.defer(() => writer.stop());
	metrics.watchQueue(() => writer.queueDepth);
	if (folding) metrics.watchFolding(() => folding.waiting);
	await store.control.ensureSigningKeys();
	const onError = throttledErrors(log, logThrottle, 'control database error');
	const directory = await AccessDirectory.load(store.control, onError);
	starting.defer(() => directory.stop());
	metrics.watchLevels(() => directory.levelsOutside);
	if (webhooks) {
		metrics.watchWebhooks(
			() => webhooks.counts,
			() => directory.failingWebhooks,
		);
		webhooks.watch(() => directory.accountsWithWebhooks.length > 0);
	}
	const quota = new QuotaCounter(writer, { now, monotonicMs, onError });
	starting.defer(() => quota.stop());
	return { tls, metrics, logThrottle, writer, quota, directory };
}

async function listenForMetrics(
	starting: AsyncDisposableStack,
	{ metricsHost, metricsPort }: ListenSettings,
	text: () => Promise<string>,
): Promise<void> {
	if (metricsPort === undefined) return;
	const server = await serveMetrics(metricsHost, metricsPort, text).catch(
		portError(metricsHost, metricsPort, '--metrics-port'),
	);
	starting.defer(() => {
		server.close();
		server.closeAllConnections();
	});
}

function stopping(stopListening: () => Promise<void>, rest: AsyncDisposableStack): RunningServer['stop'] {
	const stop = async (jobs: Promise<unknown>) => {
		try {
			await Promise.all([stopListening(), jobs]);
		} finally {
			await rest.disposeAsync();
		}
	};
	let stopped: Promise<void> | undefined;
	return (jobs = Promise.resolve()) => {
		stopped ??= stop(jobs);
		return stopped;
	};
}

/** Refuses a public address without TLS, because API keys must not cross a network unencrypted. */
function requireSafeAddress({ host, behindProxy }: ListenSettings): void {
	const isLoopback = host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host);
	if (!isLoopback && !behindProxy)
		throw new OperatorError(
			`--host ${host} would accept API keys without TLS. Set --tls-cert and --tls-key, or put a proxy that terminates TLS in front and set --behind-proxy, or listen on 127.0.0.1.`,
		);
}
