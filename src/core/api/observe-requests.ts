import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { AccessDirectory } from '../access/directory.ts';
import type { RequestCounter } from '../access/request-counter.ts';
import { monotonicMs } from '../clock.ts';
import { ApiError, withoutKeys } from '../errors.ts';
import { toApiError } from '../http/answer.ts';
import type { Log } from '../log.ts';
import { LogThrottle } from '../log-throttle.ts';
import type { Metrics } from '../metrics.ts';
import { countUpload, type UploadResult, uploadOperation } from './subscription.ts';

interface Observers {
	readonly directory: AccessDirectory;
	readonly counter: RequestCounter;
	readonly metrics: Metrics;
	readonly log: Log;
	/** Milliseconds since 1970. */
	readonly now: () => number;
}

/** Counts and logs how requests are answered. @returns what operations call for what no answer tells */
export function observeRequests(app: FastifyInstance, { directory, counter, metrics, log, now }: Observers) {
	const logsRequests = log.isLevelEnabled('debug');
	app.decorateRequest('refusal', null);
	app.addHook('onResponse', (request, reply, done) => {
		const operation = request.routeOptions.config.operation ?? 'none';
		const { statusCode: status } = reply;
		const seconds = reply.elapsedTime / 1000;
		metrics.answered(operation, status, seconds);
		if (operation === uploadOperation) countUpload(counter, request, status, now());
		if (logsRequests) log.debug({ requestId: request.id, operation, status, seconds }, 'answered');
		done();
	});
	const logThrottle = new LogThrottle(monotonicMs);
	/** What the log says of a request: enough to find who sent it, and no key. */
	const about = ({ id, routeOptions, admitted }: FastifyRequest, aid = admitted?.aid) => ({
		requestId: id,
		operation: routeOptions.config.operation,
		client: admitted?.key.client ?? (aid === undefined ? undefined : directory.account(aid)?.client),
		aid,
	});
	const onTimeout = (request: FastifyRequest) => log.warn(about(request), 'timed out');
	app.addHook('onError', (request, _reply, error, done) => {
		const { status, code, detail, aid } = toApiError(error);
		const entry = { ...about(request, aid), code, detail: detail && withoutKeys(detail) };
		if (code === 'overloaded') metrics.refusals.inc({ kind: 'queue' });
		else if (code === 'timeout') onTimeout(request);
		else if (status >= 500) {
			const cause = causeOf(error);
			logThrottle.log(`failed ${entry.aid} ${cause}`, (fields) =>
				log.error({ ...entry, cause, ...fields }, 'failed'),
			);
		} else if (status === 400) log.info(entry, 'refused');
		done();
	});
	return {
		onTimeout,
		onUpload(requestId: string, { aid, events, simulate, outcome }: UploadResult) {
			const { stored, duplicateRows, conflictingRows } = outcome;
			if (!simulate) {
				metrics.eventsStored.inc(stored);
				metrics.eventsDuplicate.inc(duplicateRows.length);
				metrics.eventsConflicting.inc(conflictingRows.length);
			}
			if (conflictingRows.length === 0) return;
			const tids = [...new Set(conflictingRows.map((row) => events[row]?.tid))];
			log.warn(
				{ requestId, aid, simulated: simulate, tids },
				'conflict: the tid was stored before with other content',
			);
		},
		onLeftOut(request: FastifyRequest, aid: string, error: unknown) {
			const cause = causeOf(error);
			logThrottle.log(`left out ${aid} ${cause}`, (fields) =>
				log.error({ ...about(request, aid), cause, ...fields }, 'left out of the answer to a hit'),
			);
		},
	};
}

const projectFolder = new URL('../../..', import.meta.url);

/** The cause of an error for the log, without the path of the installation. */
function causeOf(error: unknown): string | undefined {
	const cause = error instanceof ApiError ? error.cause : error;
	if (!(cause instanceof Error)) return undefined;
	return (cause.stack ?? cause.message)
		.replaceAll(projectFolder.href, '')
		.replaceAll(projectFolder.pathname, '');
}
