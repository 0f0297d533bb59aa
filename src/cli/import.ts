import { createReadStream, openSync, statSync, writeFileSync } from 'node:fs';
import { Command, databaseOption, jsonOption, stageOption } from '../config.ts';
import { OperatorError } from '../errors.ts';
import type { FileReport } from '../import/history-import.ts';
import { type CommonOptions, printJson, printLine, printTable, withStore } from './output.ts';
import { showProgress } from './progress.ts';

/** Problems that are told one by one. */
const maxToldProblems = 100;
const chunkBytes = 1024 * 1024;

interface ImportCommandOptions extends CommonOptions {
	readonly mapping?: string;
}

export function importCommand(): Command {
	return new Command('import')
		.summary('bring in history: hits and subscription events with their times')
		.description(
			`Import an account's history from files, one JSON object a line or CSV with a heading:

  {"type":"hit","at":"2026-01-31T10:00:00Z","visitor":"user-4711","url":"https://shop.example/pricing"}
  {"type":"subscription","at":"2026-01-31T10:05:00Z","tid":"order-1","subid":"order-1","evt":"newsletter"}

Hits may have visit, referrer, title, events, cid, userAgent, channel, device too; subscription events cid and rvn.
Lines that are wrong are named by number and field, nothing of them is stored, and the exit code is 1. What is stored
already is not stored twice: to go on after an interruption, run the same command again. Servers may run meanwhile.
docs/import.md says more.`,
		)
		.argument('<aid>', 'account token')
		.argument('<file...>', 'files of history, - for standard input; in order of time they are fastest')
		.option('--mapping <file>', 'write a file that says which vid each visitor has got')
		.addOption(databaseOption())
		.addOption(stageOption())
		.addOption(jsonOption())
		.action((aid: string, files: readonly string[], options: ImportCommandOptions) =>
			withStore(options, async (store) => {
				const sizes = files.map(sizeOf);
				const { id: accountId, channelRules } = await store.control.account(aid);
				const mapping = options.mapping === undefined ? null : createFile(options.mapping);
				const progress = showProgress(process.stderr, '', options.json ?? false);
				// Loaded here, since no other command should wait for it.
				const { HistoryImport } = await import('../import/history-import.ts');
				using history = await HistoryImport.begin({
					...{ store, accountId, channelRules, nowMs: store.now() },
					onProblem: tellProblems(),
				});
				const reports: FileReport[] = [];
				try {
					for (const [index, file] of files.entries())
						reports.push(
							await history.read(file, open(file), (bytes) =>
								progress.update(`read ${file}`, bytes, sizes[index] ?? bytes),
							),
						);
					const lines = reports.reduce((sum, { hits, events }) => sum + hits + events, 0);
					const stored = await history.store(
						(done) => progress.update('store', done, lines),
						(visitor, vid) => {
							if (mapping !== null) writeFileSync(mapping, `${JSON.stringify({ visitor, vid })}\n`);
						},
					);
					progress.end();
					if (options.json) printJson({ aid, files: reports, stored });
					else {
						printTable(reports, 'No files.');
						printLine('');
						printTable([stored], '');
					}
				} finally {
					progress.end();
				}
				if (reports.some(({ bad }) => bad > 0)) process.exitCode = 1;
			}),
		);
}

/** Null where nobody knows. */
function sizeOf(file: string): number | null {
	if (file === '-') return null;
	const stats = statSync(file, { throwIfNoEntry: false });
	if (!stats || stats.isDirectory()) throw new OperatorError(`There is no file ${file}.`);
	return stats.isFile() ? stats.size : null;
}

function open(file: string): AsyncIterable<Buffer> {
	return file === '-' ? process.stdin : createReadStream(file, { highWaterMark: chunkBytes });
}

function tellProblems(): (file: string, line: number, problem: string) => void {
	let told = 0;
	return (file, line, problem) => {
		told++;
		if (told <= maxToldProblems) process.stderr.write(`${file}:${line}: ${problem}\n`);
		if (told === maxToldProblems + 1) process.stderr.write('The report counts what else is wrong.\n');
	};
}

function createFile(path: string): number {
	try {
		return openSync(path, 'w', 0o600);
	} catch {
		throw new OperatorError(`The file ${path} cannot be written.`);
	}
}
