import { pino } from 'pino';
import { reasonOf } from './errors.ts';
import type { LogThrottle } from './log-throttle.ts';

export type Log = pino.Logger;

/** What background work says, on whichever thread. */
export type WorkLog = Readonly<Record<'info' | 'warn' | 'error', (fields: object, text: string) => void>>;

/**
 * Synchronous: an asynchronous destination retries for ever on exit when the reader of standard error has gone. After the
 * first such failure nothing more is written.
 */
function standardError(): pino.DestinationStream {
	const destination = pino.destination({ dest: 2, sync: true, maxLength: maxUnwrittenBytes });
	// Lines wait while the disk is full, on which the data may be, too. It must not end the process.
	destination.on('error', () => {});
	return destination;
}

const maxUnwrittenBytes = 65_536;

/**
 * Structured logs on standard error, one JSON object per line. Callers never log headers, query strings or bodies;
 * redaction is the second line of defence.
 */
export function createLog(
	level: pino.LevelWithSilent,
	destination: pino.DestinationStream = standardError(),
): Log {
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

/** Logs errors with a message of their own, few of those that repeat. */
export function throttledErrors(log: Log, throttle: LogThrottle, message: string): (error: unknown) => void {
	return (error) => {
		const reason = reasonOf(error);
		throttle.log(`${message} ${reason}`, (fields) => log.error({ reason, ...fields }, message));
	};
}
