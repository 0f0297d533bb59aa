import { setTimeout as delay } from 'node:timers/promises';
import { AccessDirectory } from './access/directory.ts';
import { QuotaCounter } from './access/quota.ts';
import { RequestCounter } from './access/request-counter.ts';
import { buildApp, defaultHitLimits } from './api/app.ts';
import type { Background, Server, ServingCapability, ServingPart } from './api/serving-part.ts';
import type { SitePaths } from './api/site-paths.ts';
import { monotonicMs } from './clock.ts';
import { IgnoredNetworks } from './collect/ignored-networks.ts';
import { currentTag } from './collect/tag-versions.ts';
import type { Proxies } from './domain/proxies.ts';
import { type ServerRole, serverRoles } from './domain/server-role.ts';
import { reasonOf } from './errors.ts';
import { readTls, type Tls, type TlsSettings } from './http/https.ts';
import { foldingWaiting } from './jobs/folding-job.ts';
import { closeApp, originOf, portError, reachable, requireSafeAddress } from './listening.ts';
import { type Log, throttledErrors } from './log.ts';
import { LogThrottle } from './log-throttle.ts';
import { Metrics, serveMetrics, type WatchedMetric } from './metrics.ts';
import { scorerOf } from './scoring/serve/visitor-scorer.ts';
import { startWriting } from './start-writing.ts';
import type { OpenStore } from './store/store.ts';

/** What a server needs of the settings of `caskade serve`. */
export interface HttpSettings extends TlsSettings, SitePaths {
	readonly host: string;
	readonly port: number;
	readonly stage?: string | undefined;
	readonly basePath?: string | undefined;
	readonly roles?: readonly ServerRole[] | undefined;
	readonly metricsHost: string;
	readonly metricsPort?: number | undefined;
	readonly behindProxy?: Proxies | undefined;
	readonly drainDelayMs?: number | undefined;
	readonly keepAliveMs?: number | undefined;
	readonly hitsPerAddress?: number | undefined;
	readonly hitsPerVisitor?: number | undefined;
	readonly ignoreNetworks?: string | undefined;
	readonly securityContact?: string | undefined;
	readonly demo?: boolean | undefined;
}

/** What listens beside the service, and is stopped before it. */
export interface ListeningBeside {
	readonly starting: AsyncDisposableStack;
	readonly tls: Tls | undefined;
	/** The tag as pages load it, where this process knows the address by which browsers reach it. */
	readonly tagUrl: string | undefined;
	readonly metrics: Metrics;
	/** Milliseconds since 1970. */
	readonly startedAtMs: number;
}

export interface ServeOptions {
	readonly log: Log;
	/** Called when nothing can be stored any more; the process should end. */
	readonly onDeath: (error: Error) => void;
	/** Is closed with the server. */
	readonly store: OpenStore;
	/** Milliseconds since 1970; by default the store's clock. */
	readonly now?: (() => number) | undefined;
	/** What takes part. */
	readonly capabilities?: readonly ServingCapability[];
	/** Begins what this process does besides answering. It is stopped with the server. */
	readonly startBackground?: () => Background;
	/** @returns the address of the console, where there is one */
	readonly listenBeside?: (beside: ListeningBeside) => Promise<string | undefined>;
}

export interface RunningServer {
	/** For example `http://127.0.0.1:8080` or `https://127.0.0.1:8443/api/staging`. */
	readonly url: string;
	/** Of the console; undefined where there is none. */
	readonly consoleUrl: string | undefined;
	readonly store: OpenStore;
	readonly directory: AccessDirectory;
	/** What capabilities have added. */
	readonly parts: readonly ServingPart[];
	/**
	 * Fails `/readyz` for the drain delay, then stops accepting connections, answers the requests in flight and closes
	 * everything. Repeated calls return the same promise.
	 */
	stop(): Promise<void>;
}

/**
 * Runs the service. Everything that starts is stopped in reverse order, when the server stops or cannot start.
 * @throws OperatorError if the store or a port is in use, or the address requires TLS
 */
export async function serveStore(settings: HttpSettings, options: ServeOptions): Promise<RunningServer> {
	const { log, onDeath, store, capabilities = [] } = options;
	await using starting = new AsyncDisposableStack();
	starting.defer(() => store.close());
	const now = options.now ?? store.now;
	const tls = await readTls(settings);
	if (!tls) requireSafeAddress(settings.host, Boolean(settings.behindProxy));
	const metrics = new Metrics();
	const logThrottle = new LogThrottle(monotonicMs);
	const background = options.startBackground?.();
	const writer = await startWriting(store, { metrics, log, logThrottle, onDeath }, (accountId) =>
		background?.fold(accountId),
	).catch(async (error) => {
		await background?.stop();
		throw error;
	});
	starting.defer(() => writer.stop());
	// Before the writer stops. Of two connections that close a database at the same moment, each leaves the write-ahead
	// log to the other.
	starting.defer(async () => background?.stop());
	await store.control.ensureSigningKeys();
	if (!settings.roles || settings.roles.includes('collect'))
		await store.control.notes.addOnce(`From now on /tag.js is ${currentTag}.`);
	const onControlError = throttledErrors(log, logThrottle, 'control database error');
	const directory = await AccessDirectory.load(store.control, onControlError);
	starting.defer(() => directory.stop());
	metrics.watch(levelsOutside, () => directory.levelsOutside);
	if (background) metrics.watch(foldingWaiting, () => background.level(foldingWaiting.name));
	const quota = new QuotaCounter(writer, { now, monotonicMs, onError: onControlError });
	starting.defer(() => quota.stop());
	await listenForMetrics(starting, settings, () => metrics.text());
	const reader = store.startReading();
	starting.defer(() => reader.close());
	const onScoresError = throttledErrors(log, logThrottle, 'scores failed');
	const ignored = settings.ignoreNetworks
		? starting.use(
				new IgnoredNetworks(settings.ignoreNetworks, (reason) =>
					log.error(
						{ reason },
						'the file of --ignore-networks cannot be used; the previous networks stay in effect',
					),
				),
			)
		: undefined;
	const counter = new RequestCounter(
		(counts) => writer.recordCounts(counts),
		(error) => log.error({ reason: reasonOf(error) }, 'request counts could not be recorded'),
	);
	const server: Server = {
		store,
		directory,
		reader,
		quota,
		counter,
		metrics,
		background,
		roles: settings.roles ?? serverRoles,
		isDemo: settings.demo === true,
		now,
	};
	const parts = (await Promise.all(capabilities.map(({ serving }) => serving?.(server)))).filter(
		(part) => part !== undefined,
	);
	const stopParts = () => {
		for (const { stop } of parts) stop?.();
	};
	starting.defer(stopParts);
	let draining = false;
	const prefix = `${settings.basePath ?? ''}${settings.stage === undefined ? '' : `/${settings.stage}`}`;
	const app = await buildApp({
		parts,
		counter,
		directory,
		quota,
		writer,
		reader,
		scorer: scorerOf(store, { reader, now, onError: onScoresError }),
		metrics,
		log,
		now,
		prefix,
		tls,
		schemas: store.schemas,
		roles: settings.roles,
		demo: settings.demo,
		securityContact: settings.securityContact,
		hitPath: settings.hitPath,
		tagPath: settings.tagPath,
		isIgnored: ignored && ((address) => ignored.has(address)),
		hitLimits: {
			perAddress: settings.hitsPerAddress ?? defaultHitLimits.perAddress,
			perVisitor: settings.hitsPerVisitor ?? defaultHitLimits.perVisitor,
		},
		isDraining: () => draining,
		keepAliveMs: settings.keepAliveMs,
		proxies: settings.behindProxy,
	});
	starting.defer(() => closeApp(app, directory.maxTimeoutMs + 1000));
	await app
		.listen({ host: settings.host, port: settings.port })
		.catch(portError(settings.host, settings.port, '--port'));
	const url = `${originOf(app, tls !== undefined)}${prefix}`;
	const startedAtMs = now();
	// With TLS, here or in front, visitors come by a name that nothing here knows.
	const tagUrl = settings.behindProxy || tls ? undefined : `${reachable(url)}/tag.js`;
	const consoleUrl = await options.listenBeside?.({ starting, tls, tagUrl, metrics, startedAtMs });
	await writer.announce(reachable(url), consoleUrl && new URL(consoleUrl).origin);
	const running = starting.move();
	let stopped: Promise<void> | undefined;
	const stop = async () => {
		draining = true;
		stopParts();
		void background?.stop();
		if (settings.drainDelayMs) await delay(settings.drainDelayMs);
		await running.disposeAsync();
	};
	return {
		url,
		consoleUrl,
		store,
		directory,
		parts,
		stop() {
			stopped ??= stop();
			return stopped;
		},
	};
}

async function listenForMetrics(
	starting: AsyncDisposableStack,
	{ metricsHost, metricsPort }: HttpSettings,
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

const levelsOutside: WatchedMetric = {
	name: 'caskade_score_levels_outside',
	help: 'Goals whose predicted rate of the latest known week differs significantly from the observed rate.',
	// Every process knows of all goals.
	isOfAll: true,
};
