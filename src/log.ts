import { pino } from 'pino';

export type Log = pino.Logger;

export const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];

/**
 * Written at once: what is left for the exit of the process is tried for ever there, where the reader has gone.
 * From when a write finds that, nothing is written any more.
 */
const standardError = () => pino.destination({ dest: 2, sync: true });

/**
 * Structured logs, one JSON object a line, on standard error. Headers, query strings and bodies are never handed to
 * the log; the redaction is there for whoever forgets.
 */
export function createLog(level: LogLevel, destination: pino.DestinationStream = standardError()): Log {
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
