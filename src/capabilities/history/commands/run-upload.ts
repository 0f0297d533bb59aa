import { existsSync, readFileSync } from 'node:fs';
import {
	Caskade,
	CaskadeError,
	ConnectionError,
	type Retry,
	type Usage,
} from '../../../../client/src/index.ts';
import { OperatorError } from '../../../core/errors.ts';
import { counted, formatNumber } from '../../../core/format/numbers.ts';
import { printJson, printLine } from '../../../kit/cli/output.ts';
import { showProgress } from '../../../kit/cli/progress.ts';
import { WaitingNotice } from '../../../kit/cli/waiting.ts';
import { apiKeyFromEnvironment } from '../../../kit/config.ts';
import { InputFile } from '../input-file.ts';
import { decimalMarks } from '../upload/amounts.ts';
import { EventFile, type EventFormat, type EventRow, type FileSummary } from '../upload/event-file.ts';
import { concurrency, uploadFile } from '../upload/file-upload.ts';
import { keepAliveFetch } from '../upload/keep-alive-fetch.ts';
import { ProgressFile } from '../upload/progress-file.ts';
import { ReportFiles } from '../upload/report-files.ts';
import { RowOutcomes } from '../upload/row-outcomes.ts';
import { exitConflicts } from './conflicts-command.ts';
import {
	adviceOn,
	conflictText,
	filesText,
	outcomeText,
	planText,
	stopText,
	unjoinableText,
} from './upload-text.ts';

/** Maximum number of problems to print. The file of rejected rows has all. */
const maxPrintedProblems = 20;
/** Maximum number of lines of each kind to name. The report has all. */
const maxLines = 20;
/** Validating smaller files takes no noticeable time. */
const minShownBytes = 10 * 1024 * 1024;
const maxBatchSize = 30;
const pound = 'GBP';
const exitCodes = { rejected: 1, stopped: 2, conflicts: exitConflicts };
/** Of a certificate that is not trusted, and of a server that does not speak TLS. */
const insecureCodes = /CERT|UNABLE_TO_VERIFY|ERR_TLS|ERR_SSL|EPROTO/;

/** The options of `caskade upload`. */
export interface UploadOptions {
	readonly conflicts: 'fail' | 'ok';
	readonly url: string;
	readonly aid: string;
	readonly keyFile?: string;
	readonly simulate?: boolean;
	readonly onBad: 'stop' | 'skip';
	readonly separator?: string;
	readonly map: EventFormat['map'];
	readonly pounds?: 'rvn';
	readonly currency?: string;
	readonly decimal?: keyof typeof decimalMarks;
	readonly idsAsWritten?: boolean;
	/** In milliseconds. */
	readonly retryFor: number;
	readonly json?: boolean;
}

/** Uploads a file, or what is left of it. */
export async function upload(path: string, options: UploadOptions): Promise<void> {
	const { url, aid, simulate = false, json = false } = options;
	const format = formatOf(options);
	const caskade = openClient(options);
	const isPiped = path === '-';
	using input = await InputFile.openRepeatable(path);
	const file = new EventFile(input, format);
	const name = isPiped ? 'stdin' : path;
	const reports = new ReportFiles(name);
	const bad: Pick<EventRow, 'row' | 'problem'>[] = [];
	const summary = await inspect(file, json, ({ row, line, problem }) => {
		bad.push({ row, problem });
		if (bad.length <= maxPrintedProblems) say(`${name}:${line}: ${problem}`);
		if (bad.length === maxPrintedProblems + 1) say(`${reports.rejected} has the other problems.`);
	});
	if (summary.rows === 0) throw new OperatorError(`${input.name} has no rows.`);
	const outcomes = new RowOutcomes(summary.rows);
	for (const { row, problem } of bad) outcomes.reject(row, problem ?? '');
	if (bad.length > 0 && options.onBad === 'stop') {
		const written = await reports.write(file, outcomes, { isSent: false, maxLines });
		say(
			`caskade: ${formatNumber(bad.length)} of ${counted(summary.rows, 'row')} ${bad.length === 1 ? 'is' : 'are'} invalid; nothing was sent. Correct the file, or use --on-bad skip. ${filesText(written)}`,
		);
		process.exitCode = exitCodes.rejected;
		return;
	}
	const identity = { sha256: summary.sha256, url, aid, simulate, format };
	using progress = isPiped
		? null
		: ProgressFile.open(`${name}.progress`, identity, (batch) => outcomes.add(batch));
	const failure = await send({ caskade, file, summary, bad: bad.length, outcomes, progress, options });

	const { counts, known } = outcomes;
	const left = summary.rows - known;
	const isSent = known > bad.length;
	const advice = failure && adviceOn(failure.error, { url, isKnown: failure.isKnown });
	if (advice !== undefined && !isSent) throw new OperatorError(advice);
	const written = await reports.write(file, outcomes, { isSent, maxLines });
	const { stored, duplicate: duplicates, conflict: conflicts, rejected } = counts;
	if (json)
		printJson({
			rows: summary.rows,
			stored,
			duplicates,
			conflicts,
			rejected,
			unjoinable: outcomes.unjoinable,
			left,
			files: [written.report, written.rejected].filter((each) => each !== null),
		});
	else printLine(`${outcomeText(summary.rows, counts)}. ${filesText(written)}`.trim());
	const isConflict = conflicts > 0 && options.conflicts === 'fail';
	if (isConflict) say(`caskade: ${conflictText(name, conflicts, written.conflictingLines)}`);
	if (outcomes.unjoinable > 0)
		say(`caskade: ${unjoinableText(name, outcomes.unjoinable, written.unjoinableLines)}`);
	if (left > 0) {
		const why = advice ?? stopText(failure?.error);
		say(
			`caskade: ${why} ${counted(left, 'row')} ${left === 1 ? 'is' : 'are'} left; ${howToContinue(isPiped, advice !== undefined)}`,
		);
		process.exitCode = advice === undefined ? exitCodes.stopped : exitCodes.rejected;
		return;
	}
	// The report has all outcomes. Uploading the file again starts from the beginning.
	progress?.remove();
	if (rejected > 0) process.exitCode = exitCodes.rejected;
	else if (isConflict) process.exitCode = exitCodes.conflicts;
}

/** @throws OperatorError if flags contradict each other */
function formatOf({ separator, map, pounds, currency, decimal, idsAsWritten }: UploadOptions): EventFormat {
	if (pounds !== undefined && currency !== undefined && currency !== pound)
		throw new OperatorError(`--pounds says that rvn is in pounds, and --currency that it is in ${currency}.`);
	const named = pounds === undefined ? currency : pound;
	if (decimal !== undefined && named === undefined)
		throw new OperatorError(
			'--decimal needs --currency: without it, rvn is in whole pence or cents, and has no decimals.',
		);
	return { separator, map, currency: named, decimal: decimal && decimalMarks[decimal], idsAsWritten };
}

function openClient({ url, keyFile, retryFor }: UploadOptions): Caskade {
	const apiKey = readKey(keyFile);
	try {
		return new Caskade({ url, apiKey, retryForMs: retryFor, fetch: keepAliveFetch(concurrency) });
	} catch {
		throw new OperatorError('--url must be the address of a server, for example https://api.example.com.');
	}
}

function readKey(file: string | undefined): string {
	if (file !== undefined && !existsSync(file)) throw new OperatorError(`There is no file ${file}.`);
	const key = file === undefined ? apiKeyFromEnvironment() : readFileSync(file, 'utf8').trim();
	if (!key) throw new OperatorError('An API key is needed: give --key-file, or set CASKADE_KEY.');
	return key;
}

async function inspect(file: EventFile, json: boolean, onBad: (row: EventRow) => void): Promise<FileSummary> {
	const size = file.input.size ?? 0;
	const bar = showProgress(process.stderr, 'bytes', json || size < minShownBytes);
	try {
		return await file.inspect({ onBytes: (bytes) => bar.update('looked at', bytes, size), onBad });
	} finally {
		bar.end();
	}
}

interface UploadRun {
	readonly caskade: Caskade;
	readonly file: EventFile;
	readonly summary: FileSummary;
	readonly bad: number;
	readonly outcomes: RowOutcomes;
	readonly progress: ProgressFile | null;
	readonly options: UploadOptions;
}

interface Failure {
	readonly error: CaskadeError;
	/** Whether there is a Caskade at the URL. */
	readonly isKnown: boolean;
}

/** Sends all rows whose outcome is unknown. @returns why it stopped; undefined if it did not, or if somebody stopped it */
async function send(sending: UploadRun): Promise<Failure | undefined> {
	const { caskade, file, summary, bad, outcomes, progress, options } = sending;
	const { aid, simulate = false, json = false } = options;
	const bar = showProgress(process.stderr, 'rows', json);
	using waiting = new WaitingNotice((line) => bar.waitFor(line));
	const stop = new AbortController();
	/** Ends what is in flight, too. */
	const giveUp = new AbortController();
	const stopped = new Error('stopped');
	let usage: Usage | undefined;
	const onSignal = () => {
		stop.abort();
		if (waiting.isWaiting) giveUp.abort(stopped);
	};
	const onRetry = (retry: Retry) => {
		waiting.failed(retry);
		if (stop.signal.aborted) giveUp.abort(stopped);
		const code = retry.error instanceof ConnectionError ? retry.error.code : undefined;
		// A server that has answered once may do so again.
		if (usage === undefined && code !== undefined && insecureCodes.test(code))
			giveUp.abort(insecure(options.url, code));
	};
	const call = { signal: giveUp.signal, onRetry };
	process.once('SIGINT', onSignal).once('SIGTERM', onSignal);
	try {
		usage = await caskade.usage({ ...call, aid });
		waiting.answered();
		checkCurrency(usage.currency, aid, file);
		const batchSize = Math.min(maxBatchSize, usage.maxEvents);
		const resumed = outcomes.known - bad;
		if (!json) printLine(planText({ rows: summary.rows, bad, resumed, file, usage, batchSize }));
		await uploadFile({
			caskade,
			file,
			aid,
			simulate,
			batchSize,
			outcomes,
			progress,
			stop: stop.signal,
			call,
			onBatch() {
				waiting.answered();
				bar.update('uploaded', outcomes.known, summary.rows);
			},
		});
	} catch (error) {
		if (error === stopped) return undefined;
		if (!(error instanceof CaskadeError)) throw error;
		return { error, isKnown: usage !== undefined };
	} finally {
		bar.end();
		process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
	}
	return undefined;
}

/** @throws OperatorError if amounts would be scaled by another currency than the account's */
function checkCurrency(
	actual: string | undefined,
	aid: string,
	{ currency, namedCurrency }: Pick<EventFile, 'currency' | 'namedCurrency'>,
): void {
	const said = currency ?? namedCurrency;
	if (said === undefined || actual === said) return;
	if (actual === undefined)
		throw new OperatorError(
			`The server does not tell the currency of ${aid}, because its version is older. Nothing was sent. Upload rvn in whole minor units, without --currency.`,
		);
	if (currency === undefined)
		throw new OperatorError(
			`${aid} is in ${actual}, but the file says that rvn is in ${said}. Nothing was sent.`,
		);
	throw new OperatorError(
		`${aid} is in ${actual}, but rvn is said to be in ${said}. Nothing was sent. Give --currency ${actual} if the amounts are in ${actual}.`,
	);
}

function insecure(url: string, code: string): OperatorError {
	return new OperatorError(
		`There is no secure connection to ${url} (${code}). Check --url; to trust another certificate authority, set NODE_EXTRA_CA_CERTS to its certificate.`,
	);
}

function howToContinue(isPiped: boolean, isChange: boolean): string {
	if (isPiped) return 'what was piped in cannot be continued: pipe it in again, nothing is stored twice.';
	return isChange ? 'then run the command again to continue.' : 'run the same command again to continue.';
}

function say(line: string): void {
	process.stderr.write(`${line}\n`);
}
