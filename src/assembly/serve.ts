import { readFileSync } from 'node:fs';
import type { ServingCapability } from '../core/api/serving-part.ts';
import { OperatorError } from '../core/errors.ts';
import { closeApp, originOf, portError, reachable } from '../core/listening.ts';
import type { Log } from '../core/log.ts';
import {
	type HttpSettings,
	type ListeningBeside,
	type RunningServer,
	serveStore,
} from '../core/serve-store.ts';
import { requireFileHandles } from '../core/store/file-handles.ts';
import type { OpenStore } from '../core/store/store.ts';
import type { ServeSettings } from '../kit/config.ts';
import { type ConsoleRequest, type SsoSettings, systemPath } from '../kit/console/exchange.ts';
import { manage } from '../kit/operations/manage.ts';
import { capabilities } from './capabilities.ts';
import { listenForConsole } from './console/listen.ts';
import { startBackground } from './jobs/start-background.ts';
import './jobs/assemble-compute.ts';
import { ConsoleThread } from './jobs/start-console.ts';
import { openStore } from './open-store.ts';

/** What a server needs of the command's settings; the rest is the process's own. */
export type ServerSettings = HttpSettings &
	Partial<Omit<ServeSettings, 'logLevel' | 'workers' | keyof HttpSettings>> &
	Pick<ServeSettings, 'database'>;

export interface ServerOptions {
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

const pageTimeoutMs = 5000;

/** What takes part in a server. */
export const serving: readonly ServingCapability[] = [
	...capabilities,
	{ serving: (server) => manage(server, capabilities) },
];

/**
 * Runs the service with all that it can do.
 * @throws OperatorError if the store or a port is in use, or the address requires TLS
 */
export async function serve(settings: ServerSettings, options: ServerOptions): Promise<RunningServer> {
	const { log, onDeath, now, background: does = 'all' } = options;
	requireFileHandles();
	const store = options.store ?? (await openStore(settings.database, { ...settings, serves: true }));
	const { keepHitsDays, keepTouches, trainEvery: trainEveryMs } = settings;
	const work = { followsLog: true, keepsScores: does === 'all', keepHitsDays, keepTouches, trainEveryMs };
	return serveStore(settings, {
		log,
		onDeath,
		store,
		now,
		capabilities: serving,
		...(does !== 'none' && { startBackground: () => startBackground(store.place, work, log) }),
		listenBeside: (beside) => listenForPages(settings, store, options, beside),
	});
}

async function listenForPages(
	settings: ServerSettings,
	{ place }: OpenStore,
	{ log, consoleIsOptional = false }: ServerOptions,
	{ starting, tls, tagUrl, metrics, startedAtMs }: ListeningBeside,
): Promise<string | undefined> {
	const { host, consolePort: port, behindProxy: proxies } = settings;
	if (port === undefined) return undefined;
	const sso = ssoOf(settings);
	let consoleUrl = '';
	const thread = new ConsoleThread(place, () => ({ consoleUrl, sso, tagUrl }), log);
	const answer = async (request: ConsoleRequest) =>
		thread.answer(
			request.path === systemPath
				? { ...request, serving: { startedAtMs, figures: await metrics.figures() } }
				: request,
		);
	try {
		const app = await listenForConsole({ host, port, tls, proxies, log, answer }).catch(
			portError(host, port, '--console-port'),
		);
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
