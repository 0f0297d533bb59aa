import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
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
import { OperatorError, reasonOf } from './errors.ts';
import { readTls, type Tls, type TlsSettings } from './http/https.ts';
import { foldingWaiting } from './jobs/folding-job.ts';
import { type Log, throttledErrors } from './log.ts';
import { LogThrottle } from './log-throttle.ts';
import { Metrics, serveMetrics, type WatchedMetric } from './metrics.ts';
import { portError } from './port-error.ts';
import { scorerOf } from './scoring/serve/visitor-scorer.ts';
import { maxFileHandles } from './store/file-handles.ts';
import type { ServingStore, ServingWriter } from './store/serving.ts';
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

/** Interval for closing idle connections while stopping. */
const sweepEveryMs = 50;

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
	if (!tls) requireSafeAddress(settings);
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
	watchStore(metrics, writer);
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

const levelsOutside: WatchedMetric = {
	name: 'caskade_score_levels_outside',
	help: 'Goals whose predicted rate of the latest known week differs significantly from the observed rate.',
	// Every process knows of all goals.
	isOfAll: true,
};

function watchStore(metrics: Metrics, writer: ServingWriter): void {
	metrics.watch(
		{ name: 'caskade_store_queue_depth', help: 'Requests waiting for the store.' },
		() => writer.queueDepth,
	);
	const { logs } = writer;
	if (!logs) return;
	metrics.watch(
		{ name: 'caskade_log_bytes', help: 'The longest write-ahead log of a database.' },
		() => (writer.logs ?? logs).longestBytes,
	);
	metrics.watch(
		{
			name: 'caskade_log_held_seconds',
			help: 'For how long a reader has kept a write-ahead log from being copied.',
		},
		() => (writer.logs ?? logs).heldSeconds,
	);
}

function startWriting(
	store: ServingStore,
	{
		metrics,
		log,
		logThrottle,
		onDeath,
	}: Pick<ServeOptions, 'log' | 'onDeath'> & {
		metrics: Metrics;
		logThrottle: LogThrottle;
	},
	onWaiting: (accountId: number) => void,
): Promise<ServingWriter> {
	return store.startWriting({
		onCommit: (group) => metrics.committed(group),
		onError: (database, reason) => {
			metrics.storeFailures.inc();
			logThrottle.log(`${database} ${reason}`, (fields) =>
				log.error({ database, reason, ...fields }, 'store error'),
			);
		},
		onNotice: (database, notice) => log.warn({ database, notice }, 'notice of a database'),
		onWaiting,
		onDeath,
	});
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

/** @param forceAfterMs by then every request is answered. Only bodies that nobody waits for may still be open. */
export async function closeApp(app: FastifyInstance, forceAfterMs: number): Promise<void> {
	const force = setTimeout(() => app.server.closeAllConnections(), forceAfterMs);
	// A connection that was busy when closing began is kept alive by its answer. Node does not close it.
	const sweep = setInterval(() => app.server.closeIdleConnections(), sweepEveryMs);
	await app.close();
	clearInterval(sweep);
	clearTimeout(force);
}

export function originOf(app: FastifyInstance, isSecure: boolean): string {
	const { address, port, family } = app.server.address() as AddressInfo;
	return `${isSecure ? 'https' : 'http'}://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}

/** Where this machine reaches a server that listens on all its addresses. */
export function reachable(url: string): string {
	return url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');
}

/** The files that an idle server has open, about 65, and some connections and accounts. */
const leastFileHandles = 96;

export function requireFileHandles(): void {
	const handles = maxFileHandles();
	if (handles < leastFileHandles)
		throw new OperatorError(
			`Only ${handles} files may be open at a time here, and a server needs at least ${leastFileHandles}. Allow more, for example with: ulimit -n 1024`,
		);
}

/** Refuses a public address without TLS, because API keys must not cross a network unencrypted. */
function requireSafeAddress({ host, behindProxy }: HttpSettings): void {
	const isLoopback = host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host);
	if (!isLoopback && !behindProxy)
		throw new OperatorError(
			`--host ${host} would accept API keys without TLS. Set --tls-cert and --tls-key, or put a proxy that terminates TLS in front and set --behind-proxy, or listen on 127.0.0.1.`,
		);
}
