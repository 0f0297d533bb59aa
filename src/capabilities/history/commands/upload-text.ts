import {
	type CaskadeError,
	ConnectionError,
	ForbiddenError,
	InvalidAccountError,
	NotFoundError,
	QuotaExceededError,
	UnexpectedAnswerError,
	type Usage,
} from '../../../../client/src/index.ts';
import { counted, formatNumber, listed } from '../../../core/format/numbers.ts';
import { decimalMarks } from '../upload/amounts.ts';
import type { EventFile } from '../upload/event-file.ts';
import type { WrittenReports } from '../upload/report-files.ts';
import type { Outcome } from '../upload/row-outcomes.ts';

export interface UploadPlan {
	readonly rows: number;
	/** Invalid rows, which are skipped. */
	readonly bad: number;
	/** Rows that an earlier run has done. */
	readonly resumed: number;
	/** How it is written. */
	readonly file: Pick<EventFile, 'header' | 'currency' | 'decimal'>;
	readonly usage: Usage;
	readonly batchSize: number;
}

const separatorNames: Readonly<Record<string, string>> = { ';': 'semicolons', '\t': 'tabs', '|': 'bars' };

/** The requests, the quota and the time that an upload needs. */
export function planText({ rows, bad, resumed, file, usage, batchSize }: UploadPlan): string {
	const events = rows - bad - resumed;
	const requests = Math.ceil(events / batchSize);
	const separator = file.header?.separator ?? ',';
	const separated = separator === ',' ? '' : ` separated by ${separatorNames[separator] ?? separator}`;
	const parts = [
		resumed > 0 ? `${formatNumber(resumed)} done before` : '',
		bad > 0 ? `${formatNumber(bad)} invalid, skipped` : '',
		`${formatNumber(events)} to send in ${counted(requests, 'request')}`,
	];
	const rowsText = `${counted(rows, 'row')}${separated}${amountsText(file)}: ${parts.filter(Boolean).join(', ')}.`;
	if (requests === 0) return rowsText;
	const share = usage.remaining > 0 ? (100 * requests) / usage.remaining : Number.POSITIVE_INFINITY;
	const quota =
		share > 100 ? 'more than' : share < 0.1 ? 'less than 0.1 % of' : `${formatNumber(share)} % of`;
	return `${rowsText}
Plan ${usage.plan}: at ${counted(usage.ratePerSecond, 'request')} per second this takes at least ${timeText(requests / usage.ratePerSecond)}, and ${quota} the ${counted(usage.remaining, 'request')} left until ${usage.resetsAt.slice(0, 10)}.`;
}

function amountsText({ currency, decimal }: UploadPlan['file']): string {
	if (currency === undefined) return '';
	const name = Object.entries(decimalMarks).find(([, mark]) => mark === decimal)?.[0];
	return `, amounts in ${currency} with a decimal ${name}`;
}

function timeText(seconds: number): string {
	if (seconds < 90) return `${Math.ceil(seconds)} s`;
	return seconds < 5400 ? `${Math.ceil(seconds / 60)} min` : `${formatNumber(seconds / 3600)} h`;
}

/** What has become of the rows. */
export function outcomeText(rows: number, counts: Readonly<Record<Outcome, number>>): string {
	return [
		counted(rows, 'row'),
		`${formatNumber(counts.stored)} stored`,
		counted(counts.duplicate, 'duplicate'),
		counted(counts.conflict, 'conflict'),
		`${formatNumber(counts.rejected)} rejected`,
	].join(', ');
}

export function filesText({ report, rejected }: WrittenReports): string {
	const parts = [
		report === null ? '' : `${report} has the outcome of each row.`,
		rejected === null ? '' : `${rejected} has the rejected rows.`,
	];
	return parts.filter(Boolean).join(' ');
}

/** Names the lines of rows whose `tid` is stored with other content. @param lines the first of them */
export function conflictText(path: string, conflicts: number, lines: readonly number[]): string {
	const one = conflicts === 1;
	return `${counted(conflicts, 'row')} of ${path} ${one ? 'is' : 'are'} not stored, because ${one ? 'its tid is' : 'their tids are'} stored with other content: ${linesText(conflicts, lines)}. If you expect this, add --conflicts ok.`;
}

/** Names the lines of rows with a key that joins nobody. @param lines the first of them */
export function unjoinableText(path: string, rows: number, lines: readonly number[]): string {
	return `${counted(rows, 'row')} of ${path} ${rows === 1 ? 'has' : 'have'} a tid, subid or cid that joins nobody, because it stands for a missing one or is everybody's: ${linesText(rows, lines)}. Send no cid where there is none, and a tid and a subid of its own with each sale.`;
}

function linesText(rows: number, lines: readonly number[]): string {
	const others = rows - lines.length;
	const named = [...lines, ...(others > 0 ? [`${formatNumber(others)} more`] : [])];
	return `${rows === 1 ? 'line' : 'lines'} ${listed(named)}`;
}

/**
 * What to change if the same command cannot succeed later; undefined if it can.
 * @param isKnown whether there is a Caskade at the URL
 */
export function adviceOn(
	failure: CaskadeError,
	{ url, isKnown }: { url: string; isKnown: boolean },
): string | undefined {
	const { status, message } = failure;
	const asked = failure.requestId === undefined ? `${status}` : `${status}, request ${failure.requestId}`;
	if (failure instanceof ForbiddenError)
		return `The server refuses the API key (${asked}). Check the key in --key-file or CASKADE_KEY: it must be of this server and stage, neither revoked nor expired, and not one that only reads.`;
	if (failure instanceof InvalidAccountError) return `${sentence(message)} Check --aid, and whose key it is.`;
	if (failure instanceof QuotaExceededError || failure.isRetryable) return undefined;
	const isElsewhere = failure instanceof NotFoundError || failure instanceof UnexpectedAnswerError;
	if (isElsewhere || !isKnown)
		return `There is no Caskade at ${url} (${asked}). Check --url: it is the address of the server with base path and stage, without the path of an operation.`;
	return `The server refuses the upload: ${sentence(message)}`;
}

/** Why an upload stopped that the same command continues. @param failure undefined if somebody stopped it */
export function stopText(failure: CaskadeError | undefined): string {
	if (failure === undefined) return 'Stopped.';
	const { message, requestId, retryAfterMs } = failure;
	if (failure instanceof QuotaExceededError) {
		const until = new Date(Date.now() + (retryAfterMs ?? 0)).toISOString().slice(0, 10);
		return `Stopped: the monthly quota is used up until ${until}.`;
	}
	if (failure instanceof ConnectionError) return `Stopped: the server does not answer (${message.trim()}).`;
	return `Stopped: ${sentence(message).slice(0, -1)}${requestId === undefined ? '' : ` (request ${requestId})`}.`;
}

function sentence(message: string): string {
	return `${message.trim().replace(/[.;]$/, '')}.`;
}
