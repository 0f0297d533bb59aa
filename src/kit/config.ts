import { type Argument, InvalidArgumentError, Option } from 'commander';
import { isNetwork, maxHops, type Proxies } from '../core/domain/proxies.ts';
import { type ServerRole, serverRoles } from '../core/domain/server-role.ts';
import { dayMs, hourMs, minuteMs } from '../core/durations.ts';
import { OperatorError } from '../core/errors.ts';
import { issuerAddress, pageOrigin, pastMoment, positiveNumber, wholeNumber } from './format/values.ts';

/** The property that a flag sets: `--as-of <time>` sets `asOf`, and `--no-origin` sets `origin`. */
type Property<Flags extends string> = Flags extends `${infer Flag} ${string}`
	? Property<Flag>
	: Flags extends `--no-${infer Words}`
		? Camel<Words>
		: Flags extends `--${infer Words}`
			? Camel<Words>
			: never;
type Camel<Words extends string> = Words extends `${infer First}-${infer Rest}`
	? `${First}${Capitalize<Camel<Rest>>}`
	: Words;

/** What a flag sets that nothing parses. */
export type Plain<Flags extends string> = Flags extends `${string}...>`
	? readonly string[]
	: Flags extends `${string} ${string}`
		? string
		: boolean;

/** The property that a flag sets: always, where there is a usual value. */
export type Sets<Flags extends string, Value, Usual> = [Usual] extends [undefined]
	? { readonly [Name in Property<Flags>]?: Value }
	: { readonly [Name in Property<Flags>]: Value };

/** What a flag takes: what its parser takes, or one of some values. */
export type Takes<Value> = ((value: string, earlier: never) => Value) | readonly Value[];

/**
 * Completes an option or an argument.
 * @param takes without it, any text
 * @param usual what it is where it is left out
 * @param usualText the same in the help
 */
export function filled<Filled extends Option | Argument>(
	declared: Filled,
	takes?: Takes<unknown>,
	usual?: unknown,
	usualText?: string,
): Filled {
	if (typeof takes === 'function') declared.argParser(refusing(takes) as never);
	else if (takes) declared.choices(takes as readonly string[]);
	if (usual !== undefined) declared.default(usual, usualText);
	return declared;
}

/**
 * An option that holds for an installation, not for one call. It can also be set in the environment: `--metrics-port` is
 * `CASKADE_METRICS_PORT`. What a command acts on is a plain `Option`: a flag that was forgotten must not be found there.
 */
export class Setting<Set = object> extends Option {
	/** Only a type. */
	declare readonly set: Set;

	constructor(flags: string, description: string) {
		super(flags, description);
		const variable = `CASKADE_${this.name().toUpperCase().replaceAll('-', '_')}`;
		if (this.isBoolean() && !isOn(variable)) delete process.env[variable];
		this.env(variable);
	}
}

/** The parameters are those of `filled`. */
export function setting<
	Flags extends string,
	const Value = Plain<Flags>,
	Usual extends Value | undefined = undefined,
>(flags: Flags, text: string, takes?: Takes<Value>, usual?: Usual, usualText?: string) {
	return filled(new Setting<Sets<Flags, Value, Usual>>(flags, text), takes, usual, usualText);
}

/** Commander treats a boolean flag as set whenever its variable is present, even if it is `false`. */
function isOn(variable: string): boolean {
	const value = process.env[variable];
	if (value === undefined || /^(|0|false|no|off)$/i.test(value)) return false;
	if (/^(1|true|yes|on)$/i.test(value)) return true;
	throw new OperatorError(`${variable} must be true or false.`);
}

const stageName = matching(
	/^[a-z0-9][a-z0-9-]{0,29}$/,
	'It must be 1 to 30 lower-case letters, digits and hyphens, for example staging.',
);

/** @throws OperatorError which does not quote the value: it may hold a password */
export function databaseAddress(value: string): string {
	if (/^sqlite:./.test(value)) return value;
	if (!/^postgres(ql)?:./.test(value))
		throw new OperatorError('It must be sqlite:FOLDER or postgres://user:password@host:port/database.');
	if (URL.canParse(value)) return value;
	throw new OperatorError(
		'It must be like postgres://user:password@host:port/database; in a password write %23 for #, %2F for /, %3F for ? and %25 for %, or keep it in PGPASSWORD.',
	);
}

/** The location of the data; an option of every command. */
export const databaseSetting = [
	'--database <address>',
	'where the data is: sqlite:FOLDER or postgres://…',
	databaseAddress,
	'sqlite:./data',
] as const;
/** One of several deployments that share a database address; an option of every command. */
export const stageSetting = [
	'--stage <name>',
	'a separate deployment under /NAME, with its own data and keys',
	stageName,
] as const;
/** An option of servers, of commands that erase, and of those that look whether something is to be erased again. */
export const erasureListSetting = [
	'--erasure-list <file>',
	'file that lists what was erased, to erase it again after a restore (default: erasures.jsonl in the data folder; on PostgreSQL none)',
] as const;
/** Machine-readable output; an option of every command that prints a result. */
export const jsonSetting = ['--json', 'print one JSON document on standard output'] as const;
/** Where people reach the console; an option of commands that print its links, too. */
export const consoleUrlSetting = [
	'--console-url <url>',
	'where people reach the console, such as https://console.example.com',
	pageOrigin,
] as const;

const unitsMs: Readonly<Record<string, number>> = { s: 1000, m: minuteMs, h: hourMs, d: dayMs };

/** Parses a flag's duration, such as 90s, 15m, 6h or 1d, to milliseconds. */
export const duration = durationIn(
	'smhd',
	365 * dayMs,
	'It must be a duration such as 90s, 15m, 6h or 1d, from 1s to 365d.',
);

const port = wholeNumber(0, 65_535);
const pathPattern = /^(\/(?!\.)[A-Za-z0-9._~-]+)+$/;
/** Whether it is free is known once there are routes. */
const sitePath = matching(
	pathPattern,
	'It must be a path such as /api or /js/shop.js: letters, digits, dots, underscores, tildes and hyphens, without a slash at the end.',
);
/** `/` means none, so that the variable can always be set. */
const basePath = (value: string) => (value === '/' ? '' : sitePath(value));

export const serveOptions = () => [
	setting(...databaseSetting),
	setting(...stageSetting),
	setting('--host <address>', 'address to listen on', undefined, '127.0.0.1'),
	setting('--port <number>', 'port to listen on; 0 takes any free one', port, 8080),
	setting(
		'--console-port <number>',
		'port of the web console; 0 takes any free one (default: 8081; a free one if --port is 0)',
		port,
	),
	setting(...consoleUrlSetting),
	setting(
		'--sso-issuer <url>',
		'let people sign in to the console through this OpenID Connect provider',
		issuerAddress,
	),
	setting('--sso-client-id <id>', 'the client id that the provider has given to this console'),
	setting('--sso-secret-file <file>', 'file with the client secret from the provider'),
	setting('--base-path <path>', 'path prefix of the service, such as /api; comes before the stage', basePath),
	setting('--tls-cert <file>', 'serve HTTPS with this certificate (PEM, followed by its chain)'),
	setting('--tls-key <file>', "the certificate's private key (PEM); changes of either file take effect"),
	setting('--self-signed', 'serve HTTPS with a generated certificate, to try it out'),
	setting(
		'--behind-proxy [proxies]',
		'proxies in front terminate TLS: their number (1 if left out), or their networks, such as 10.0.0.0/8,fd00::/8',
		proxies,
	).preset('1'),
	setting('--metrics-port <number>', 'port of GET /metrics, for Prometheus (default: no metrics)', port),
	setting('--metrics-host <address>', 'address of GET /metrics', undefined, '127.0.0.1'),
	setting(
		'--log-level <level>',
		'how much to log; debug logs every request',
		['debug', 'info', 'warn', 'error', 'silent'],
		'info',
	),
	setting(
		'--workers <number>',
		'processes that share the port, to use more cores; needs PostgreSQL',
		wholeNumber(1, 64),
		1,
	),
	setting(
		'--connections <number>',
		'connections to PostgreSQL that a process may open, 18 to 24 (default: 24, or what the server allows)',
		wholeNumber(18, 24),
	),
	setting(
		'--node-address <list>',
		'if this server reaches Citus nodes at other addresses than they reach each other: pairs such as worker-1:5432=10.0.0.21:5432, theirs first, separated by commas',
		nodeAddresses,
	),
	setting(
		'--drain-delay-ms <number>',
		'how long to keep serving after the signal to stop; meanwhile /readyz answers 503, so that load balancers stop sending',
		wholeNumber(0, 600_000),
		0,
	),
	setting(
		'--keep-alive-ms <number>',
		'how long a connection without a request stays open; it must be longer than in a proxy in front',
		wholeNumber(1000, 3_600_000),
		72_000,
	),
	setting(
		'--keep-hits-days <number>',
		'delete hits older than this many days, and what was derived from them',
		wholeNumber(1, 36_500),
	),
	setting(
		'--keep-touches',
		'with --keep-hits-days, keep how subscribers arrived, so that reports still show what led to their subscriptions',
	),
	setting(...erasureListSetting),
	setting(
		'--train-every <time>',
		'how often to train the models of all accounts, such as 6h or 1d (default: only by command)',
		duration,
	),
	setting(
		'--roles <list>',
		'what this server does, such as api,collect: api (uploads and reads), collect (hits), manage (changes of accounts)',
		roles,
		[...serverRoles],
		serverRoles.join(),
	),
	setting(
		'--hits-per-address <number>',
		'hits per second from one address, in bursts of up to 10 s',
		positiveNumber(1e6),
		50,
	),
	setting(
		'--hits-per-visitor <number>',
		'hits per second from one visitor, in bursts of up to 10 s',
		positiveNumber(1e6),
		5,
	),
	setting(
		'--hit-path <path>',
		'also accept hits at this path, for example /basket; /basket.gif is the image',
		sitePath,
	),
	setting('--tag-path <path>', 'also serve the current tag at this path, for example /js/shop.js', sitePath),
	setting(
		'--ignore-networks <file>',
		'do not store hits from the networks in this file, one per line, for example 203.0.113.0/24',
	),
	setting(
		'--security-contact <address>',
		'whom to tell of a vulnerability, an email address or an https URL: served at /.well-known/security.txt',
		contact,
	),
	setting(
		'--demo',
		'serve a demo shop at /demo/; if there are no clients yet, create one and print a curl line for it',
	),
	setting('--open', 'open the console in a browser, if there is a screen'),
];

type Intersection<Union> = (Union extends unknown ? (each: Union) => void : never) extends (
	all: infer All,
) => void
	? All
	: never;

/** What the options of `caskade serve` say. */
export type ServeSettings = Intersection<ReturnType<typeof serveOptions>[number]['set']>;

/** As a URI. */
function contact(value: string): string {
	if (/^https:\/\/\S+$/.test(value)) return value;
	if (/^[^\s@:]+@[^\s@:]+$/.test(value)) return `mailto:${value}`;
	throw new InvalidArgumentError(
		'It must be an email address or an https URL, for example security@example.com.',
	);
}

function roles(value: string): readonly ServerRole[] {
	const names = value.split(',');
	if (!names.every((name) => (serverRoles as readonly string[]).includes(name)))
		throw new InvalidArgumentError('It must be api, collect or manage, or several, such as api,collect.');
	return names as ServerRole[];
}

/** Host and port by which this process reaches a cluster's node, by host and port by which the nodes do. */
function nodeAddresses(value: string): Readonly<Record<string, string>> {
	const node = String.raw`(?:\[[0-9a-f:.]+\]|[\w.-]+):\d{1,5}`;
	const pairs = value.split(',').map((pair) => new RegExp(`^(${node})=(${node})$`, 'i').exec(pair.trim()));
	if (!pairs.every((pair) => pair !== null))
		throw new InvalidArgumentError(
			'It must be pairs such as worker-1:5432=10.0.0.21:5432, with commas between them.',
		);
	return Object.fromEntries(pairs.map(([, theirs, ours]) => [theirs, ours]));
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
	if (!networks.every(isNetwork))
		throw new InvalidArgumentError(
			`It must be the number of proxies, at most ${maxHops}, or their networks, for example 10.0.0.0/8,fd00::/8.`,
		);
	return networks;
}

/** A parser of texts that match a pattern. @param otherwise what is said of others */
export function matching(pattern: RegExp, otherwise: string): (value: string) => string {
	return (value) => {
		if (!pattern.test(value)) throw new OperatorError(otherwise);
		return value;
	};
}

/** Parses a flag's date or time to milliseconds since 1970. */
export function moment(value: string): number {
	return pastMoment(value, Date.now());
}

/** Passes on what is wrong with a value as Commander expects it, which names the flag. */
function refusing<Earlier, Value>(parse: (value: string, earlier: Earlier) => Value) {
	return (value: string, earlier: Earlier): Value => {
		try {
			return parse(value, earlier);
		} catch (error) {
			throw error instanceof OperatorError ? new InvalidArgumentError(error.message) : error;
		}
	};
}

/**
 * A parser of durations to milliseconds, from a second on.
 * @param units some of s, m, h and d
 * @param otherwise what is said of others
 */
export function durationIn(units: string, maxMs: number, otherwise: string): (value: string) => number {
	return (value) => {
		const [, number, unit = ''] = /^(\d{1,6})([smhd])$/.exec(value) ?? [];
		const ms = Number(number) * (unitsMs[unit] ?? Number.NaN);
		if (!units.includes(unit) || !(ms >= 1000 && ms <= maxMs)) throw new OperatorError(otherwise);
		return ms;
	};
}

/** The program that opens a page in the browser of whoever sits here; undefined where there is no screen. */
export function pageOpener(): readonly string[] | undefined {
	if (process.platform === 'darwin') return ['open'];
	if (process.platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler'];
	return process.env.DISPLAY || process.env.WAYLAND_DISPLAY ? ['xdg-open'] : undefined;
}

/** The API key of a client command. Not a flag, because all users of a machine can see those. */
export function apiKeyFromEnvironment(): string | undefined {
	return process.env.CASKADE_KEY;
}
