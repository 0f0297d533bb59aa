import { existsSync, readFileSync, rmSync, statSync } from 'node:fs';
import { Caskade, CaskadeError, QuotaExceededError, type Usage } from '../../client/src/index.ts';
import { apiKeyFromEnvironment } from '../config.ts';
import { OperatorError } from '../errors.ts';
import { type EventRow, type FileSummary, inspect } from '../upload/event-file.ts';
import { concurrency, uploadFile } from '../upload/file-upload.ts';
import { keepAliveFetch } from '../upload/keep-alive-fetch.ts';
import { ProgressFile } from '../upload/progress-file.ts';
import { writeReports } from '../upload/report-files.ts';
import { RowOutcomes } from '../upload/row-outcomes.ts';
import { printJson, printLine } from './output.ts';
import { showProgress } from './progress.ts';

/** Maximum number of problems to print. The file of rejected rows has all. */
const maxPrintedProblems = 20;
/** Validating smaller files takes no noticeable time. */
const minShownBytes = 10 * 1024 * 1024;
const maxBatchSize = 30;
/** Long enough for a restart of the server. */
const retryForMs = 120_000;
const exitRejected = 1;
const exitStopped = 2;

/** The options of `caskade upload`. */
export interface UploadOptions {
	readonly url: string;
	readonly aid: string;
	readonly keyFile?: string;
	readonly simulate?: boolean;
	readonly onBad: 'stop' | 'skip';
	readonly json?: boolean;
}

/** Uploads a file, or what is left of it. */
export async function upload(path: string, options: UploadOptions): Promise<void> {
	const { aid, simulate = false, json = false } = options;
	const caskade = new Caskade({
		...{ url: options.url, apiKey: readKey(options.keyFile), retryForMs },
		fetch: keepAliveFetch(concurrency),
	});
	const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
	const looking = showProgress(process.stderr, 'bytes', json || size < minShownBytes);
	const bad: EventRow[] = [];
	const summary = await inspect(path, {
		onBytes: (bytes) => looking.update('looked at', bytes, size),
		onBad: (row) => {
			bad.push(row);
			if (bad.length <= maxPrintedProblems) process.stderr.write(`${path}:${row.line}: ${row.problem}\n`);
			if (bad.length === maxPrintedProblems + 1)
				process.stderr.write(`${path}.rejected.csv has the other problems.\n`);
		},
	});
	looking.end();
	if (summary.rows === 0) throw new OperatorError(`${path} has no rows.`);
	const outcomes = new RowOutcomes(summary.rows);
	for (const { row, problem } of bad) outcomes.reject(row, problem ?? '');
	if (bad.length > 0 && options.onBad === 'stop') {
		const files = await writeReports(path, outcomes);
		process.stderr.write(
			`caskade: ${bad.length} of ${summary.rows} rows are invalid; nothing was sent. Correct them, or use --on-bad skip. See ${files.join(', ')}.\n`,
		);
		process.exitCode = exitRejected;
		return;
	}
	const progressPath = `${path}.progress`;
	const identity = { sha256: summary.sha256, url: options.url, aid, simulate };
	using progress = ProgressFile.open(progressPath, identity, (batch) => outcomes.add(batch));
	const resumed = outcomes.known - bad.length;
	const stop = new AbortController();
	const onSignal = () => stop.abort();
	process.once('SIGINT', onSignal).once('SIGTERM', onSignal);
	const bar = showProgress(process.stderr, 'rows', json);
	let failure: unknown;
	try {
		const usage = await caskade.usage();
		const batchSize = Math.min(maxBatchSize, usage.maxEvents);
		if (!json) printPlan(summary, { usage, batchSize, bad: bad.length, resumed });
		await uploadFile({
			...{ caskade, path, aid, simulate, batchSize, outcomes, progress, stop: stop.signal },
			onBatch: () => bar.update('uploaded', outcomes.known, summary.rows),
		});
	} catch (error) {
		if (!(error instanceof CaskadeError)) throw error;
		failure = error;
	} finally {
		bar.end();
		process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
	}
	const isOver = outcomes.known === summary.rows;
	const files = await writeReports(path, outcomes);
	const { stored, duplicate, conflict, rejected } = outcomes.counts;
	const known = { rows: summary.rows, stored, duplicates: duplicate, conflicts: conflict, rejected };
	if (json) printJson({ ...known, left: summary.rows - outcomes.known, files });
	else printLine(`${textOf(known)}. ${files.join(', ')} have the outcome of each row.`);
	if (!isOver) {
		process.stderr.write(
			`caskade: ${stopText(failure)} ${summary.rows - outcomes.known} rows are left; run the same command again to continue.\n`,
		);
		process.exitCode = exitStopped;
		return;
	}
	// The report has all outcomes. Uploading the file again starts from the beginning.
	rmSync(progressPath, { force: true });
	process.exitCode = rejected > 0 ? exitRejected : 0;
}

function readKey(file: string | undefined): string {
	if (file !== undefined && !existsSync(file)) throw new OperatorError(`There is no file ${file}.`);
	const key = file === undefined ? apiKeyFromEnvironment() : readFileSync(file, 'utf8').trim();
	if (!key) throw new OperatorError('An API key is needed: give --key-file, or set CASKADE_KEY.');
	return key;
}

const numbers = new Intl.NumberFormat('en-GB', { maximumFractionDigits: 1 });

/** Prints the requests, the quota and the time that the upload needs. */
function printPlan(
	{ rows }: FileSummary,
	{ usage, batchSize, bad, resumed }: { usage: Usage; batchSize: number; bad: number; resumed: number },
): void {
	const events = rows - bad - resumed;
	const requests = Math.ceil(events / batchSize);
	const parts = [
		resumed > 0 ? `${numbers.format(resumed)} done before` : '',
		bad > 0 ? `${numbers.format(bad)} invalid, skipped` : '',
		`${numbers.format(events)} to send in ${numbers.format(requests)} requests`,
	];
	printLine(`${numbers.format(rows)} rows: ${parts.filter(Boolean).join(', ')}.`);
	const share = usage.remaining > 0 ? (100 * requests) / usage.remaining : Number.POSITIVE_INFINITY;
	printLine(
		`Plan ${usage.plan}: at ${numbers.format(usage.ratePerSecond)} requests per second this takes at least ${timeText(requests / usage.ratePerSecond)}, and ${share > 100 ? 'more than' : `${numbers.format(share)} % of`} the ${numbers.format(usage.remaining)} requests that are left until ${usage.resetsAt.slice(0, 10)}.`,
	);
}

function timeText(seconds: number): string {
	if (seconds < 90) return `${Math.ceil(seconds)} s`;
	return seconds < 5400 ? `${Math.ceil(seconds / 60)} min` : `${numbers.format(seconds / 3600)} h`;
}

function textOf(counts: Readonly<Record<string, number>>): string {
	return Object.entries(counts)
		.map(([name, count]) => `${numbers.format(count)} ${name}`)
		.join(', ');
}

function stopText(failure: unknown): string {
	if (failure === undefined) return 'Stopped.';
	const { message, requestId, retryAfterMs } = failure as CaskadeError;
	if (failure instanceof QuotaExceededError) {
		const until = new Date(Date.now() + (retryAfterMs ?? 0)).toISOString().slice(0, 10);
		return `Stopped: the monthly quota is used up until ${until}.`;
	}
	const name = requestId === undefined ? '' : ` (request ${requestId})`;
	return `Stopped: ${message.replace(/[.;]$/, '')}${name}.`;
}
