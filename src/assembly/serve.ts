import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import type { SsoSettings } from '../capabilities/people/access/single-sign-on.ts';
import { ReportRunner } from '../capabilities/reports/report-runner.ts';
import { ServedSample } from '../capabilities/training/serve/served-sample.ts';
import { accountsWithWebhooks, countFailing } from '../capabilities/webhooks/index.ts';
import { AccessDirectory } from '../core/access/directory.ts';
import { QuotaCounter } from '../core/access/quota.ts';
import { monotonicMs } from '../core/clock.ts';
import { IgnoredNetworks } from '../core/collect/ignored-networks.ts';
import { currentTag } from '../core/collect/tag-versions.ts';
import { OperatorError } from '../core/errors.ts';
import { readTls, type Tls } from '../core/http/tls.ts';
import { type Log, throttledErrors } from '../core/log.ts';
import { LogThrottle } from '../core/log-throttle.ts';
import { Metrics, serveMetrics } from '../core/metrics.ts';
import { portError } from '../core/port-error.ts';
import { scorerOf } from '../core/scoring/serve/visitor-scorer.ts';
import { maxFileHandles } from '../core/store/file-handles.ts';
import type { ServingStore, ServingWriter } from '../core/store/serving.ts';
import type { OpenStore } from '../core/store/store.ts';
import type { ServeSettings } from '../kit/config.ts';
import { type ConsoleRequest, type ServingState, systemPath } from '../kit/console/exchange.ts';
import { compute } from '../kit/jobs/compute.ts';
import { buildApp, defaultHitLimits } from './app.ts';
import { listenForConsole } from './console/listen.ts';
import { startBackground } from './jobs/background.ts';
import { ConsoleThread } from './jobs/console.ts';
import { openStore } from './open.ts';

/** What a server needs of the command's settings; the rest is the process's own. */
export type ServerSettings = Partial<Omit<ServeSettings, 'logLevel' | 'workers'>> &
	Pick<ServeSettings, 'database' | 'host' | 'port' | 'metricsHost'>;

export interface ServeOptions {
	readonly log: Log;
	/** Called when nothing can be stored any more; the process should end. */
	readonly onDeath: (error: Error) => void;
	/** The opened store, which is closed with the server. By default the one of `settings.database`. */
	readonly store?: OpenStore | undefined;
	/** Milliseconds since 1970; by default the store's clock. */
	readonly now?: (() => number) | undefined;
	/**
	 * Which background work this process does: all of it, all but what one process on a machine does for the others, or
	 * none. Default: all.
	 */
	readonly background?: 'all' | 'shared' | 'none';
	/** Whether to serve without the console where its port is in use. */
	readonly consoleIsOptional?: boolean;
}

export interface Serving {
	/** For example `http://127.0.0.1:8080` or `https://127.0.0.1:8443/api/staging`. */
	readonly url: string;
	/** Of the console; undefined where there is none. */
	readonly consoleUrl: string | undefined;
	readonly store: OpenStore;
	readonly directory: AccessDirectory;
	/**
	 * Fails `/readyz` for the drain delay, then stops accepting connections, answers the requests in flight and closes
	 * everything. Repeated calls return the same promise.
	 */
	stop(): Promise<void>;
}

const pageTimeoutMs = 5000;
/** Interval for closing idle connections while stopping. */
const sweepEveryMs = 50;

/**
 * Runs the service. Everything that starts is stopped in reverse order, when the server stops or cannot start.
 * @throws OperatorError if the store or a port is in use, or the address requires TLS
 */
export async function serve(settings: ServerSettings, options: ServeOptions): Promise<Serving> {
	const { log, onDeath, background: does = 'all' } = options;
	requireFileHandles();
	await using starting = new AsyncDisposableStack();
	const store = options.store ?? (await openStore(settings.database, { ...settings, serves: true }));
	starting.defer(() => store.close());
	const now = options.now ?? store.now;
	const tls = await readTls(settings);
	if (!tls) requireSafeAddress(settings);
	const metrics = new Metrics();
	const logThrottle = new LogThrottle(monotonicMs);
	const background =
		does === 'none' ? undefined : startBackground(store.place, workOf(settings, does === 'all'), log);
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
	metrics.watchQueue(() => writer.queueDepth);
	const { logs } = writer;
	if (logs) metrics.watchLogs(() => writer.logs ?? logs);
	await store.control.ensureSigningKeys();
	if (!settings.roles || settings.roles.includes('collect'))
		await store.control.notes.addOnce(`From now on /tag.js is ${currentTag}.`);
	const onControlError = throttledErrors(log, logThrottle, 'control database error');
	const directory = await AccessDirectory.load(store.control, onControlError);
	starting.defer(() => directory.stop());
	metrics.watchLevels(() => directory.levelsOutside);
	if (background) {
		metrics.watchPromises(() => background.promisesBroken);
		metrics.watchFolding(() => background.foldingWaiting);
		metrics.watchWebhooks(
			() => background.deliveries,
			() => countFailing(directory.snapshot),
		);
		background.watchWebhooks(() => accountsWithWebhooks(directory.snapshot).length > 0);
	}
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
	const served = background && new ServedSample({ keep: (id, scores) => background.keepServed(id, scores) });
	starting.defer(() => served?.stop());
	let draining = false;
	const prefix = `${settings.basePath ?? ''}${settings.stage === undefined ? '' : `/${settings.stage}`}`;
	const app = await buildApp({
		store,
		directory,
		quota,
		writer,
		reader,
		scorer: scorerOf(store, { reader, now, onError: onScoresError }),
		served,
		metrics,
		log,
		now,
		prefix,
		tls,
		onVisitorChange: (accountId) => background?.visitorChanged(accountId),
		usageOf: (keyId) => store.control.usageOf(keyId),
		schemas: store.schemas,
		reports: new ReportRunner((account, query, signal) =>
			compute(store.place, { type: 'report', account, query }, { signal }),
		),
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
	const serving = async () => ({ startedAtMs, figures: await metrics.figures() });
	// With TLS, here or in front, visitors come by a name that nothing here knows.
	const tagUrl = settings.behindProxy || tls ? undefined : `${reachable(url)}/tag.js`;
	const consoleUrl = await listenForPages(starting, settings, tls, store, { ...options, serving, tagUrl });
	await writer.announce(reachable(url), consoleUrl && new URL(consoleUrl).origin);
	const running = starting.move();
	let stopped: Promise<void> | undefined;
	const stop = async () => {
		draining = true;
		served?.flush();
		void background?.stop();
		if (settings.drainDelayMs) await delay(settings.drainDelayMs);
		await running.disposeAsync();
	};
	return {
		url,
		consoleUrl,
		store,
		directory,
		stop() {
			stopped ??= stop();
			return stopped;
		},
	};
}

function workOf({ keepHitsDays, keepTouches, trainEvery }: ServerSettings, keepsScores: boolean) {
	return { followsLog: true, keepsScores, keepHitsDays, keepTouches, trainEveryMs: trainEvery };
}

function startWriting(
	store: ServingStore,
	{ metrics, log, logThrottle, onDeath }: ServeOptions & { metrics: Metrics; logThrottle: LogThrottle },
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
	{ metricsHost, metricsPort }: ServerSettings,
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

async function listenForPages(
	starting: AsyncDisposableStack,
	settings: ServerSettings,
	tls: Tls | undefined,
	{ place }: OpenStore,
	{
		log,
		consoleIsOptional = false,
		serving,
		tagUrl,
	}: ServeOptions & { serving: () => Promise<ServingState>; tagUrl: string | undefined },
): Promise<string | undefined> {
	const { host, consolePort, behindProxy } = settings;
	if (consolePort === undefined) return undefined;
	const sso = ssoOf(settings);
	let consoleUrl = '';
	const thread = new ConsoleThread(place, () => ({ consoleUrl, sso, tagUrl }), log);
	const answer = async (request: ConsoleRequest) =>
		thread.answer(request.path === systemPath ? { ...request, serving: await serving() } : request);
	try {
		const app = await listenForConsole({
			host,
			port: consolePort,
			tls,
			proxies: behindProxy,
			log,
			answer,
		}).catch(portError(host, consolePort, '--console-port'));
		starting.defer(() => thread.stop());
		starting.defer(() => closeApp(app, pageTimeoutMs));
		consoleUrl = settings.consoleUrl ?? reachable(originOf(app, tls !== undefined));
		return `${consoleUrl}/console/`;
	} catch (error) {
		if (!(consoleIsOptional && error instanceof OperatorError)) throw error;
		log.warn({ reason: error.message }, 'there is no console');
		return undefined;
	}
}

/** @throws OperatorError where a part of the provider's settings is missing, or the file cannot be read */
function ssoOf({ ssoIssuer, ssoClientId, ssoSecretFile }: ServerSettings): SsoSettings | undefined {
	if (ssoIssuer === undefined && ssoClientId === undefined && ssoSecretFile === undefined) return undefined;
	if (ssoIssuer === undefined || ssoClientId === undefined || ssoSecretFile === undefined)
		throw new OperatorError(
			'--sso-issuer, --sso-client-id and --sso-secret-file go together; one is missing.',
		);
	try {
		const clientSecret = readFileSync(ssoSecretFile, 'utf8').trim();
		return { issuer: ssoIssuer, clientId: ssoClientId, clientSecret };
	} catch (error) {
		throw new OperatorError(`${ssoSecretFile} cannot be read (${(error as NodeJS.ErrnoException).code}).`, {
			cause: error,
		});
	}
}

/** @param forceAfterMs by then every request is answered. Only bodies that nobody waits for may still be open. */
async function closeApp(app: FastifyInstance, forceAfterMs: number): Promise<void> {
	const force = setTimeout(() => app.server.closeAllConnections(), forceAfterMs);
	// A connection that was busy when closing began is kept alive by its answer. Node does not close it.
	const sweep = setInterval(() => app.server.closeIdleConnections(), sweepEveryMs);
	await app.close();
	clearInterval(sweep);
	clearTimeout(force);
}

function originOf(app: FastifyInstance, isSecure: boolean): string {
	const { address, port, family } = app.server.address() as AddressInfo;
	return `${isSecure ? 'https' : 'http'}://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}

/** Where this machine reaches a server that listens on all its addresses. */
function reachable(url: string): string {
	return url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');
}

/** The files that an idle server has open, about 65, and some connections and accounts. */
const leastFileHandles = 96;

function requireFileHandles(): void {
	const handles = maxFileHandles();
	if (handles < leastFileHandles)
		throw new OperatorError(
			`Only ${handles} files may be open at a time here, and a server needs at least ${leastFileHandles}. Allow more, for example with: ulimit -n 1024`,
		);
}

/** Refuses a public address without TLS, because API keys must not cross a network unencrypted. */
function requireSafeAddress({ host, behindProxy }: ServerSettings): void {
	const isLoopback = host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host);
	if (!isLoopback && !behindProxy)
		throw new OperatorError(
			`--host ${host} would accept API keys without TLS. Set --tls-cert and --tls-key, or put a proxy that terminates TLS in front and set --behind-proxy, or listen on 127.0.0.1.`,
		);
}
