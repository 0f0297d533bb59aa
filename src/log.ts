import { pino } from 'pino';

export type Log = pino.Logger;

export const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];

/**
 * Structured logs, one JSON object a line, on standard error. Headers, query strings and bodies are never handed to
 * the log; the redaction is there for whoever forgets.
 */
export function createLog(level: LogLevel, destination: pino.DestinationStream = pino.destination(2)): Log {
	return pino(
		{
			level,
			base: null,
			timestamp: pino.stdTimeFunctions.isoTime,
			formatters: { level: (label) => ({ level: label }) },
			redact: {
				paths: [
					'key',
					'cask',
					'cid',
					'body',
					'headers',
					'query',
					'*.key',
					'*.cask',
					'*.cid',
					'*.body',
					'*.headers',
				],
				remove: true,
			},
		},
		destination,
	);
}
