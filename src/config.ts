import { isIP } from 'node:net';
import { InvalidArgumentError, Option } from 'commander';
import { isProxyOf, maxHops, type Proxies } from './domain/client-address.ts';
import { type ServerRole, serverRoles } from './domain/server-role.ts';
import { dayMs, hourMs, minuteMs } from './durations.ts';
import { OperatorError } from './errors.ts';
import * as values from './format/values.ts';
import { type LogLevel, logLevels } from './log.ts';

/**
 * An option that holds for an installation, not for one call. It can also be set in the environment: `--metrics-port` is
 * `CASKADE_METRICS_PORT`. What a command acts on is a plain `Option`: a flag that was forgotten must not be found there.
 */
export class Setting extends Option {
	constructor(flags: string, description: string) {
		super(flags, description);
		const variable = `CASKADE_${this.name().toUpperCase().replaceAll('-', '_')}`;
		if (this.isBoolean() && !isOn(variable)) delete process.env[variable];
		this.env(variable);
	}
}

/** Commander treats a boolean flag as set whenever its variable is present, even if it is `false`. */
function isOn(variable: string): boolean {
	const value = process.env[variable];
	if (value === undefined || /^(|0|false|no|off)$/i.test(value)) return false;
	if (/^(1|true|yes|on)$/i.test(value)) return true;
	throw new OperatorError(`${variable} must be true or false.`);
}

/** The location of the data; an option of every command. */
export const databaseOption = () =>
	new Setting('--database <address>', 'where the data is: sqlite:FOLDER or postgres://…').default(
		'sqlite:./data',
	);

/** One of several deployments that share a database address; an option of every command. */
export const stageOption = () =>
	new Setting(
		'--stage <name>',
		'a deployment of its own: other data, other keys, paths under /NAME',
	).argParser(stageName);

/** Machine-readable output; an option of every command that prints a result. */
export const jsonOption = () => new Setting('--json', 'print one JSON document on standard output');
/** For commands whose rows go into a table. */
export const csvOption = () => new Option('--csv', 'print CSV, with a header');

/** Where people reach the console; an option of commands that print its links, too. */
export const consoleUrlOption = () =>
	new Setting(
		'--console-url <url>',
		'where people reach the console, such as https://console.example.com',
	).argParser(refusing(values.pageOrigin));

/** Without `--console-url`, and on its port of its own. */
export const defaultConsoleUrl = 'http://127.0.0.1:8081';

export interface ServeSettings {
	readonly database: string;
	readonly stage?: string;
	/** For example `/api`; empty for none. */
	readonly basePath?: string;
	readonly host: string;
	readonly port: number;
	/** The trusted proxies; 0 for none. */
	readonly behindProxy?: Proxies;
	readonly tlsCert?: string;
	readonly tlsKey?: string;
	readonly selfSigned?: boolean;
	/** The port of the console; without it there is none. */
	readonly consolePort?: number;
	/** Where people reach it; by default where it listens. */
	readonly consoleUrl?: string;
	/** The provider of single sign-on; all three, or none. */
	readonly ssoIssuer?: string;
	readonly ssoClientId?: string;
	/** A file with the secret that the provider has given. */
	readonly ssoSecretFile?: string;
	readonly metricsHost: string;
	readonly metricsPort?: number;
	readonly logLevel: LogLevel;
	readonly demo?: boolean;
	/** Older hits are deleted. Without it, hits are kept for ever. */
	readonly keepHitsDays?: number;
	/** Touches of visitors with subscription events stay when their hits are deleted. */
	readonly keepTouches?: boolean;
	/** Number of processes that share the port. */
	readonly workers: number;
	/** How many connections to PostgreSQL a process may open. */
	readonly connections?: number;
	/** Host and port by which this process reaches a cluster's node, by host and port by which the nodes do. */
	readonly nodeAddress?: Readonly<Record<string, string>>;
	readonly roles?: readonly ServerRole[];
	/** Interval between trainings of all accounts, in milliseconds. Without it, training runs only on command. */
	readonly trainEvery?: number;
	readonly hitsPerAddress?: number;
	readonly hitsPerVisitor?: number;
	readonly hitPath?: string;
	readonly tagPath?: string;
	/** A file of networks whose hits are not stored. */
	readonly ignoreNetworks?: string;
	/** How long requests are still accepted after the signal to stop. */
	readonly drainDelayMs: number;
}

export const serveOptions = () => [
	databaseOption(),
	stageOption(),
	new Setting('--host <address>', 'address to listen on').default('127.0.0.1'),
	new Setting('--port <number>', 'port to listen on; 0 takes any free one').default(8080).argParser(port),
	new Setting(
		'--console-port <number>',
		'port of the web console; 0 takes any free one (default: 8081, or any where --port is 0)',
	).argParser(port),
	consoleUrlOption(),
	new Setting(
		'--sso-issuer <url>',
		'let people sign in to the console through this provider of OpenID Connect',
	).argParser(refusing(values.issuerAddress)),
	new Setting('--sso-client-id <id>', 'what the provider calls this console'),
	new Setting('--sso-secret-file <file>', "file with the client's secret, which the provider has given"),
	new Setting(
		'--base-path <path>',
		'path prefix of the service, such as /api; comes before the stage',
	).argParser(basePath),
	new Setting('--tls-cert <file>', 'serve HTTPS with this certificate (PEM, followed by its chain)'),
	new Setting('--tls-key <file>', "the certificate's private key (PEM); changes of either file take effect"),
	new Setting('--self-signed', 'serve HTTPS with a generated certificate, to try it out'),
	new Setting(
		'--behind-proxy [proxies]',
		'proxies in front terminate TLS: their number (1 if left out), or their networks, such as 10.0.0.0/8,fd00::/8',
	)
		.preset('1')
		.argParser(proxies),
	new Setting(
		'--metrics-port <number>',
		'port of GET /metrics, for Prometheus (default: no metrics)',
	).argParser(port),
	new Setting('--metrics-host <address>', 'address of GET /metrics').default('127.0.0.1'),
	new Setting('--log-level <level>', 'how much to log; debug logs every request')
		.choices([...logLevels])
		.default('info'),
	new Setting('--workers <number>', 'processes that share the port, to use more cores; needs PostgreSQL')
		.default(1)
		.argParser(wholeNumber(1, 64)),
	new Setting(
		'--connections <number>',
		'connections to PostgreSQL that a process may open, 18 to 24 (default: 24, or what the server allows)',
	).argParser(wholeNumber(18, 24)),
	new Setting(
		'--node-address <list>',
		'how to reach nodes of a Citus cluster that see each other by other names: HOST:PORT=HOST:PORT, theirs first, with commas between several',
	).argParser(nodeAddresses),
	new Setting(
		'--drain-delay-ms <number>',
		'how long to keep serving after the signal to stop; /readyz reports it, so that load balancers stop sending',
	)
		.default(0)
		.argParser(wholeNumber(0, 600_000)),
	new Setting(
		'--keep-hits-days <number>',
		'delete hits older than this many days, and what was derived from them',
	).argParser(wholeNumber(1, 36_500)),
	new Setting(
		'--keep-touches',
		'with --keep-hits-days, keep how subscribers arrived, so that reports still show what led to their subscriptions',
	),
	new Setting(
		'--train-every <time>',
		'interval for training the models of all accounts, such as 6h or 1d (default: only by command)',
	).argParser(duration),
	new Setting(
		'--roles <list>',
		'what this server does: api (uploads and reads), collect (hits), or both: api,collect',
	)
		.default([...serverRoles], 'api,collect')
		.argParser(roles),
	new Setting('--hits-per-address <number>', 'hits per second from one address; 10 s of them at once')
		.default(50)
		.argParser(positiveNumber(1e6)),
	new Setting('--hits-per-visitor <number>', 'hits per second from one visitor; 10 s of them at once')
		.default(5)
		.argParser(positiveNumber(1e6)),
	new Setting(
		'--hit-path <path>',
		'also accept hits at this path, for example /basket; /basket.gif is the image',
	).argParser(sitePath),
	new Setting(
		'--tag-path <path>',
		'also serve the current tag at this path, for example /js/shop.js',
	).argParser(sitePath),
	new Setting(
		'--ignore-networks <file>',
		'do not store hits from the networks in this file, one per line, for example 203.0.113.0/24',
	),
	new Setting(
		'--demo',
		'serve a demo shop at /demo/; if there are no clients yet, create one and print a curl line for it',
	),
];

function roles(value: string): readonly ServerRole[] {
	const names = value.split(',');
	if (!names.every((name) => (serverRoles as readonly string[]).includes(name)))
		throw new InvalidArgumentError('It must be api, collect, or api,collect.');
	return names as ServerRole[];
}

function nodeAddresses(value: string): Readonly<Record<string, string>> {
	const node = String.raw`(?:\[[0-9a-f:.]+\]|[\w.-]+):\d{1,5}`;
	const pairs = value.split(',').map((pair) => new RegExp(`^(${node})=(${node})$`, 'i').exec(pair.trim()));
	if (!pairs.every((pair) => pair !== null))
		throw new InvalidArgumentError(
			'It must be pairs such as worker-1:5432=10.0.0.21:5432, with commas between them.',
		);
	return Object.fromEntries(pairs.map(([, theirs, ours]) => [theirs, ours]));
}

function stageName(value: string): string {
	if (!/^[a-z0-9][a-z0-9-]{0,29}$/.test(value))
		throw new InvalidArgumentError(
			'It must be 1 to 30 lower-case letters, digits and hyphens, for example staging.',
		);
	return value;
}

/**
 * A number of proxies, or networks. The environment may also say true or false, as for every flag that can be given
 * without a value.
 */
function proxies(value: string): Proxies {
	if (/^(|0|false|no|off)$/i.test(value)) return 0;
	if (/^(1|true|yes|on)$/i.test(value)) return 1;
	if (/^\d+$/.test(value) && Number(value) <= maxHops) return Number(value);
	const networks = value.split(',').map((network) => network.trim());
	const areAddresses = networks.every((network) => isIP(network.replace(/\/\d{1,3}$/, '')) > 0);
	try {
		if (!areAddresses) throw new TypeError();
		isProxyOf(networks);
	} catch {
		throw new InvalidArgumentError(
			`It must be the number of proxies, at most ${maxHops}, or their networks, for example 10.0.0.0/8,fd00::/8.`,
		);
	}
	return networks;
}

/** `/` means none, so that the variable can always be set. */
function basePath(value: string): string {
	if (value === '/') return '';
	if (!/^(\/(?!\.)[A-Za-z0-9._~-]+)+$/.test(value))
		throw new InvalidArgumentError(
			'It must be a path such as /api or /events/v1: letters, digits, dots, underscores, tildes and hyphens, without a slash at the end.',
		);
	return value;
}

/** Parses a path that a site chooses for hits or for the tag. Whether it is free is known once there are routes. */
function sitePath(value: string): string {
	if (!/^(\/(?!\.)[A-Za-z0-9._~-]+)+$/.test(value))
		throw new InvalidArgumentError(
			'It must be a path such as /js/shop.js, of letters, digits, dots, underscores, tildes and hyphens.',
		);
	return value;
}

/** Parses a flag's integer from `min` to `max`. */
export function wholeNumber(min: number, max: number): (value: string) => number {
	return refusing(values.wholeNumber(min, max));
}

/** Parses a flag's positive number. */
export function positiveNumber(max: number): (value: string) => number {
	return refusing(values.positiveNumber(max));
}

/** Parses a flag's date or time to milliseconds since 1970. */
export function moment(value: string): number {
	return refusing((text) => values.pastMoment(text, Date.now()))(value);
}

/** Passes on what is wrong with a value as Commander expects it, which names the flag. */
export function refusing<Value>(parse: (value: string) => Value): (value: string) => Value {
	return (value) => {
		try {
			return parse(value);
		} catch (error) {
			throw error instanceof OperatorError ? new InvalidArgumentError(error.message) : error;
		}
	};
}

const unitsMs: Readonly<Record<string, number>> = { s: 1000, m: minuteMs, h: hourMs, d: dayMs };

/** Parses a flag's duration, such as 90s, 15m, 6h or 1d, to milliseconds. */
export function duration(value: string): number {
	const [, number, unit = ''] = /^(\d{1,6})([smhd])$/.exec(value) ?? [];
	const ms = Number(number) * (unitsMs[unit] ?? Number.NaN);
	if (!(ms >= 1000 && ms <= 365 * dayMs))
		throw new InvalidArgumentError('It must be a duration such as 90s, 15m, 6h or 1d, from 1s to 365d.');
	return ms;
}

/** The API key of a client command. Not a flag, because all users of a machine can see those. */
export function apiKeyFromEnvironment(): string | undefined {
	return process.env.CASKADE_KEY;
}

function port(value: string): number {
	return wholeNumber(0, 65_535)(value);
}
