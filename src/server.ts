import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { AccessDirectory } from './access/directory.ts';
import { QuotaCounter } from './access/quota.ts';
import { buildApp, defaultHitLimits } from './app.ts';
import { monotonicMs } from './clock.ts';
import { IgnoredNetworks } from './collect/ignored-networks.ts';
import type { ServeSettings } from './config.ts';
import { OperatorError, reasonOf } from './errors.ts';
import { readTls } from './http/tls.ts';
import type { Log } from './log.ts';
import { LogThrottle } from './log-throttle.ts';
import { Metrics } from './metrics.ts';
import { ReportRunner } from './reports/report-runner.ts';
import { ModelCache } from './scoring/model-cache.ts';
import { VisitorScorer } from './scoring/visitor-scorer.ts';
import type { Store } from './store/store.ts';

export interface RunningServer {
	/** For example `http://127.0.0.1:8080` or `https://127.0.0.1:8443/api/staging`. */
	readonly url: string;
	readonly directory: AccessDirectory;
	/**
	 * Fails `/readyz` for the drain delay, then stops accepting connections, answers the requests in flight and closes
	 * everything. Repeated calls return the same promise.
	 */
	stop(): Promise<void>;
}

type ListenSettings = Omit<
	ServeSettings,
	'database' | 'logLevel' | 'workers' | 'drainDelayMs' | 'keepHitsDays' | 'keepTouches' | 'trainEvery'
> & {
	/** How long requests are still accepted after `stop`, until load balancers notice. */
	readonly drainDelayMs?: number;
};

/** The background job that folds the log into profiles. */
export interface BackgroundFolding {
	/** Announces that an account has work waiting. */
	wake(accountId: number): void;
	/** Number of items waiting. */
	readonly waiting: number;
}

/** Tells webhooks of an account that its visitors have changed. */
export interface BackgroundWebhooks {
	wake(accountId: number): void;
	watch(hasWebhooks: () => boolean): void;
	readonly counts: { readonly delivered: number; readonly failed: number; readonly disabled: number };
}

/** Interval for closing idle connections while stopping. */
const sweepEveryMs = 50;

/**
 * Starts a server on a store, and closes the store when the server stops or cannot start.
 * @param onDeath called when nothing can be stored any more; the process should end
 * @param folding handles background work; without it, other processes must
 * @param webhooks handles webhooks; likewise
 * @throws OperatorError where the store or a port is in use, or the address requires TLS
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
	// Disposed of in reverse order, when the server stops or cannot start.
	await using starting = new AsyncDisposableStack();
	starting.defer(() => store.close());
	const tls = await readTls(settings);
	if (!tls) requireSafeAddress(settings);
	const prefix = `${settings.basePath ?? ''}${settings.stage === undefined ? '' : `/${settings.stage}`}`;
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
	const logError = (what: string) => (error: unknown) => {
		const reason = reasonOf(error);
		logThrottle.log(`${what} ${reason}`, (fields) => log.error({ reason, ...fields }, what));
	};
	const onControlError = logError('control database error');
	const onScoreError = logError('scores failed');
	await store.control.ensureSigningKeys();
	const directory = await AccessDirectory.load(store.control, onControlError);
	starting.defer(() => directory.stop());
	metrics.watchLevels(() => directory.levelsOutside);
	if (webhooks) {
		metrics.watchWebhooks(
			() => webhooks.counts,
			() => directory.failingWebhooks,
		);
		webhooks.watch(() => directory.accountsWithWebhooks.length > 0);
	}
	const quota = new QuotaCounter(writer, { now, monotonicMs, onError: onControlError });
	starting.defer(() => quota.stop());
	const reader = store.startReading();
	starting.defer(() => reader.close());
	const scorer = new VisitorScorer({
		reader,
		models: new ModelCache({
			read: (accountId, name) => store.control.modelBody(accountId, name),
			monotonicMs,
			onError: onScoreError,
		}),
		now,
		onError: onScoreError,
	});
	if (settings.metricsPort !== undefined) {
		const metricsServer = await metrics
			.listen(settings.metricsHost, settings.metricsPort)
			.catch(portError(settings.metricsHost, settings.metricsPort, '--metrics-port'));
		starting.defer(() => {
			metricsServer.close();
			metricsServer.closeAllConnections();
		});
	}
	const ignored =
		settings.ignoreNetworks === undefined
			? undefined
			: starting.use(
					new IgnoredNetworks(settings.ignoreNetworks, (reason) =>
						log.error(
							{ reason },
							'the file of --ignore-networks cannot be used; the previous networks stay in effect',
						),
					),
				);
	let draining = false;
	const app = await buildApp({
		...{ directory, quota, writer, reader, scorer, metrics, log, now, prefix, tls },
		onVisitorChange: (accountId) => webhooks?.wake(accountId),
		usageOf: (keyId) => store.control.usageOf(keyId),
		reports: new ReportRunner(store.place),
		...(settings.roles && { roles: settings.roles }),
		...(settings.demo && { demo: true }),
		...(settings.hitPath !== undefined && { hitPath: settings.hitPath }),
		...(settings.tagPath !== undefined && { tagPath: settings.tagPath }),
		...(ignored && { isIgnored: (address) => ignored.has(address) }),
		hitLimits: {
			perAddress: settings.hitsPerAddress ?? defaultHitLimits.perAddress,
			perVisitor: settings.hitsPerVisitor ?? defaultHitLimits.perVisitor,
		},
		isDraining: () => draining,
		...(settings.behindProxy && { proxies: settings.behindProxy }),
	});

	starting.defer(async () => {
		// By then every request is answered. What is still open are bodies that nobody waits for.
		const forceClose = setTimeout(() => app.server.closeAllConnections(), directory.maxTimeoutMs + 1000);
		// A connection that was busy when closing began is kept alive by its answer. Node does not close it.
		const sweep = setInterval(() => app.server.closeIdleConnections(), sweepEveryMs);
		await app.close();
		clearInterval(sweep);
		clearTimeout(forceClose);
	});

	await app
		.listen({ host: settings.host, port: settings.port })
		.catch(portError(settings.host, settings.port, '--port'));
	const running = starting.move();
	const shutDown = async () => {
		draining = true;
		if (settings.drainDelayMs) await delay(settings.drainDelayMs);
		await running.disposeAsync();
	};
	let stopped: Promise<void> | undefined;
	const stop = () => {
		stopped ??= shutDown();
		return stopped;
	};
	const { address, port, family } = app.server.address() as AddressInfo;
	const origin = `${tls ? 'https' : 'http'}://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
	return { url: `${origin}${prefix}`, directory, stop };
}

/** Refuses a public address without TLS, because API keys must not cross a network unencrypted. */
function requireSafeAddress({ host, behindProxy }: ListenSettings): void {
	const isLoopback = host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host);
	if (!isLoopback && !behindProxy)
		throw new OperatorError(
			`--host ${host} would accept API keys without TLS. Set --tls-cert and --tls-key, or put a proxy that terminates TLS in front and set --behind-proxy, or listen on 127.0.0.1.`,
		);
}

/** Explains why a port cannot be listened on. */
export function portError(host: string, port: number, flag: string): (error: NodeJS.ErrnoException) => never {
	return (error) => {
		const reasons: Readonly<Record<string, string>> = {
			EADDRINUSE: `Port ${port} on ${host} is in use; choose another with ${flag}.`,
			EACCES: `Port ${port} requires privileges that this process lacks; choose one above 1023 with ${flag}.`,
			EADDRNOTAVAIL: `${host} is not an address of this machine.`,
			ENOTFOUND: `${host} is not an address of this machine.`,
		};
		throw new OperatorError(reasons[error.code ?? ''] ?? error.message, { cause: error });
	};
}
