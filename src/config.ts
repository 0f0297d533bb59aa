import { Command as CommanderCommand, InvalidArgumentError, Option } from 'commander';
import { type LogLevel, logLevels } from './log.ts';
import { OperatorError } from './store/store.ts';

/** A command whose every flag has a twin in the environment: `--metrics-port` is `CASKADE_METRICS_PORT`. */
export class Command extends CommanderCommand {
	override createCommand(name?: string): Command {
		return new Command(name);
	}

	override addOption(option: Option): this {
		const twin = `CASKADE_${option.name().toUpperCase().replaceAll('-', '_')}`;
		if (option.isBoolean() && !isOn(twin)) delete process.env[twin];
		return super.addOption(option.env(twin));
	}
}

/** Commander takes a flag without a value as given whenever its twin is there, even as `false`. */
function isOn(twin: string): boolean {
	const value = process.env[twin];
	if (value === undefined || /^(|0|false|no|off)$/i.test(value)) return false;
	if (/^(1|true|yes|on)$/i.test(value)) return true;
	throw new OperatorError(`${twin} must be true or false.`);
}

/** Where the data is; every command takes it. */
export const databaseOption = () =>
	new Option('--database <address>', 'where the data is: sqlite:FOLDER').default('sqlite:./data');

/** Machine-readable output; every command that answers takes it. */
export const jsonOption = () => new Option('--json', 'print one JSON document on standard output');

export interface ServeSettings {
	readonly database: string;
	readonly host: string;
	readonly port: number;
	readonly behindProxy?: boolean;
	readonly metricsHost: string;
	readonly metricsPort?: number;
	readonly logLevel: LogLevel;
	readonly demo?: boolean;
}

export const serveOptions = () => [
	databaseOption(),
	new Option('--host <address>', 'address to listen on').default('127.0.0.1'),
	new Option('--port <number>', 'port to listen on; 0 takes any free one').default(8080).argParser(port),
	new Option('--behind-proxy', 'a proxy in front ends TLS: allow other addresses than loopback'),
	new Option(
		'--metrics-port <number>',
		'port of GET /metrics, for Prometheus; without it there are none',
	).argParser(port),
	new Option('--metrics-host <address>', 'address of GET /metrics').default('127.0.0.1'),
	new Option('--log-level <level>', 'how much to log; debug logs every request')
		.choices([...logLevels])
		.default('info'),
	new Option('--demo', 'where the data folder has no clients yet, make one and print a curl line for it'),
];

/** A whole number from `least` to `most`, for a flag. */
export function wholeNumber(least: number, most: number): (value: string) => number {
	return (value) => {
		const number = Number(value);
		if (!/^\d+$/.test(value) || number < least || number > most)
			throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`);
		return number;
	};
}

/** A number over 0, for a flag. */
export function positiveNumber(most: number): (value: string) => number {
	return (value) => {
		const number = Number(value);
		if (value.trim() === '' || !(number > 0 && number <= most))
			throw new InvalidArgumentError(`It must be a number over 0, at most ${most}.`);
		return number;
	};
}

function port(value: string): number {
	return wholeNumber(0, 65_535)(value);
}
