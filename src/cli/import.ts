import { createReadStream, openSync, statSync, writeFileSync } from 'node:fs';
import { Command } from '../config.ts';
import { OperatorError } from '../errors.ts';
import type { FileReport } from '../import/history-import.ts';
import { aidArgument } from './aid-argument.ts';
import { type CommonOptions, printJson, printLine, printTable, withStore } from './output.ts';
import { showProgress } from './progress.ts';

/** Problems that are printed individually. */
const maxPrintedProblems = 100;
const chunkBytes = 1024 * 1024;

interface ImportCommandOptions extends CommonOptions {
	readonly mapping?: string;
}

export function importCommand(): Command {
	return new Command('import')
		.summary('import past hits and subscription events')
		.description(
			`Import an account's history from files: one JSON object per line, or CSV with a header:

  {"type":"hit","at":"2026-01-31T10:00:00Z","visitor":"user-4711","url":"https://shop.example/pricing"}
  {"type":"subscription","at":"2026-01-31T10:05:00Z","tid":"order-1","subid":"order-1","evt":"newsletter"}

Hits may also have visit, referrer, title, events, cid, userAgent, channel and device; subscription events cid and rvn.
Invalid lines are reported by number and field and are not stored; the exit code is then 1. Nothing is stored twice: to
resume an interrupted import, run the same command again. Servers may keep running. See docs/import.md.`,
		)
		.addArgument(aidArgument())
		.argument('<file...>', 'history files, - for standard input; fastest in order of time')
		.option('--mapping <file>', 'write the vid of each visitor to this file')
		.addCommonOptions()
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
					onProblem: printProblems(),
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

/** Null where the size is unknown. */
function sizeOf(file: string): number | null {
	if (file === '-') return null;
	const stats = statSync(file, { throwIfNoEntry: false });
	if (!stats || stats.isDirectory()) throw new OperatorError(`There is no file ${file}.`);
	return stats.isFile() ? stats.size : null;
}

function open(file: string): AsyncIterable<Buffer> {
	return file === '-' ? process.stdin : createReadStream(file, { highWaterMark: chunkBytes });
}

function printProblems(): (file: string, line: number, problem: string) => void {
	let printed = 0;
	return (file, line, problem) => {
		printed++;
		if (printed <= maxPrintedProblems) process.stderr.write(`${file}:${line}: ${problem}\n`);
		if (printed === maxPrintedProblems + 1)
			process.stderr.write('Further problems are only counted in the report.\n');
	};
}

function createFile(path: string): number {
	try {
		return openSync(path, 'w', 0o600);
	} catch {
		throw new OperatorError(`The file ${path} cannot be written.`);
	}
}
