import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { AccessDirectory } from '../access/directory.ts';
import type { Quota } from '../access/quota.ts';
import { buildApp, defaultHitLimits } from '../app.ts';
import { IgnoredNetworks } from '../collect/ignored-networks.ts';
import type { ServeSettings } from '../config.ts';
import type { Tls } from '../http/tls.ts';
import { type Log, throttledErrors } from '../log.ts';
import type { LogThrottle } from '../log-throttle.ts';
import type { Metrics } from '../metrics.ts';
import { ReportRunner } from '../reports/report-runner.ts';
import { scorerOf } from '../scoring/visitor-scorer.ts';
import type { RequestWriter, Store } from '../store/store.ts';
import { portError } from './port.ts';

export type ListenSettings = Omit<
	ServeSettings,
	'database' | 'logLevel' | 'workers' | 'drainDelayMs' | 'keepHitsDays' | 'keepTouches' | 'trainEvery'
> & {
	/** How long requests are still accepted after `stop`, so that load balancers can notice. */
	readonly drainDelayMs?: number;
};

export interface Listener {
	/** For example `http://127.0.0.1:8080` or `https://127.0.0.1:8443/api/staging`. */
	readonly url: string;
	readonly port: number;
	/**
	 * Fails `/readyz` for the drain delay, then stops accepting connections, answers the requests in flight and closes
	 * what was opened here. Repeated calls return the same promise.
	 */
	stop(): Promise<void>;
}

/** Interval for closing idle connections while stopping. */
const sweepEveryMs = 50;

/**
 * Listens for requests on this thread.
 * @throws OperatorError if the port is in use
 */
export async function listen(options: {
	directory: AccessDirectory;
	store: Store;
	settings: ListenSettings;
	tls: Tls | undefined;
	writer: RequestWriter;
	quota: Quota;
	metrics: Metrics;
	log: Log;
	logThrottle: LogThrottle;
	/** Milliseconds since 1970. */
	now: () => number;
	/** Called when a visitor of an account with webhooks may have changed. */
	onVisitorChange: (accountId: number) => void;
}): Promise<Listener> {
	const { directory, store, settings, tls, writer, quota, metrics, log, logThrottle, now } = options;
	// Disposed of in reverse order, when the listener stops or cannot start.
	await using starting = new AsyncDisposableStack();
	const prefix = `${settings.basePath ?? ''}${settings.stage === undefined ? '' : `/${settings.stage}`}`;
	const reader = store.startReading();
	starting.defer(() => reader.close());
	const onError = throttledErrors(log, logThrottle, 'scores failed');
	const scorer = scorerOf(store, { reader, now, onError });
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
		onVisitorChange: options.onVisitorChange,
		usageOf: (keyId) => store.control.usageOf(keyId),
		schemas: store.schemas,
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
		// By then every request is answered. Only bodies that nobody waits for may still be open.
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
	return { url: `${origin}${prefix}`, port, stop };
}
