import { type MessagePort, parentPort } from 'node:worker_threads';
import { OperatorError, reasonOf, UnavailableError } from '../../core/errors.ts';
import type { WorkLog } from '../../core/log.ts';
import type { FromThread, ToThread } from './thread.ts';

/** What runs in a `Thread`. */

const port = parentPort as MessagePort;
const send = (message: FromThread) => port.postMessage(message);

/**
 * Handles what this thread is sent.
 * @param receive its outcome is the answer to a call. What it throws otherwise ends the thread
 * @param end finishes what has begun
 */
export function serveThread<Sent>(
	receive: (sent: Sent, onProgress: (progress: unknown) => void) => unknown,
	end?: () => Promise<void>,
): void {
	port.on('message', async (message: ToThread) => {
		if (message === 'end') {
			await end?.();
			port.close();
			return;
		}
		const { call, sent } = message;
		if (call === undefined) {
			await receive(sent as Sent, () => {});
			return;
		}
		try {
			const result = await receive(sent as Sent, (progress) => send({ type: 'progress', call, progress }));
			send({ type: 'done', call, result });
		} catch (error) {
			send({ type: kindOf(error), call, reason: reasonOf(error) });
		}
	});
}

/** What the caller must know of an error, whose class is lost on the way. */
function kindOf(error: unknown): 'refused' | 'unavailable' | 'failed' {
	if (error instanceof OperatorError) return 'refused';
	return error instanceof UnavailableError ? 'unavailable' : 'failed';
}

/** Tells whoever started this thread. */
export function tell(event: unknown): void {
	send({ type: 'event', event });
}

const say = (level: keyof WorkLog) => (fields: object, text: string) =>
	send({ type: 'log', level, fields, text });

/** The process' log. */
export const log: WorkLog = { info: say('info'), warn: say('warn'), error: say('error') };
