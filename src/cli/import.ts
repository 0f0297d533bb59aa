import { createWriteStream, statSync, type WriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';
import { Command, databaseOption, jsonOption, stageOption } from '../config.ts';
import { OperatorError } from '../store/store.ts';
import { HistoryLoader, type LoadReport } from '../visitors/history-loader.ts';
import { type CommonOptions, printJson, printTable, withStore } from './output.ts';
import { showProgress } from './progress.ts';

/** Bad lines that are told one by one. */
const mostToldLines = 100;

interface ImportOptions extends CommonOptions {
	readonly mapping?: string;
}

export function importCommand(): Command {
	return new Command('import')
		.summary('bring in history: hits and subscription events with their times')
		.description(
			`Import an account's history from files, one JSON object a line or CSV with a heading:

  {"type":"hit","at":"2026-01-31T10:00:00Z","visitor":"user-4711","url":"https://shop.example/pricing"}
  {"type":"subscription","at":"2026-01-31T10:05:00Z","tid":"order-1","subid":"order-1","evt":"newsletter"}

Hits may have visit, referrer, title, events, cid, channel, device, userAgent too; subscription events cid and rvn.
Lines that are wrong are named by their number, and no part of them is imported. What is stored already is not
stored twice: an import that was interrupted, or a file that has grown, is imported by running the command again.
Servers may go on meanwhile; let one import run at a time. The visitors get vids of their own; --mapping tells which.`,
		)
		.argument('<aid>', 'account token')
		.argument('<file...>', 'files of history; in order of time they are fastest')
		.option('--mapping <file>', 'write a file that says which vid each visitor has got')
		.addOption(databaseOption())
		.addOption(stageOption())
		.addOption(jsonOption())
		.action((aid: string, files: readonly string[], options: ImportOptions) =>
			withStore(options, async (store) => {
				const sizes = files.map(sizeOf);
				const { id, channelRules } = await store.control.account(aid);
				const loader = await HistoryLoader.open(store, id, { nowMs: Date.now(), channelRules });
				const mapping = options.mapping === undefined ? undefined : new MappingFile(options.mapping);
				const progress = showProgress(process.stderr, 'KiB', options.json ?? false);
				const reports: ({ file: string } & LoadReport)[] = [];
				try {
					for (const [index, file] of files.entries()) {
						const report = await loader.load(file, {
							onBytes: (bytes) => progress.update(`import ${file}`, kib(bytes), kib(sizes[index] as number)),
							onBadLine: tellBadLines(file),
							...(mapping && { onVisitor: (visitor: string, vid: string) => mapping.add(visitor, vid) }),
						});
						reports.push({ file, ...report });
					}
				} finally {
					progress.end();
				}
				await mapping?.end();
				if (options.json) printJson({ aid, files: reports });
				else printTable(reports, 'No files.');
				if (reports.some(({ bad }) => bad > 0)) process.exitCode = 1;
			}),
		);
}

function sizeOf(file: string): number {
	const stats = statSync(file, { throwIfNoEntry: false });
	if (!stats?.isFile()) throw new OperatorError(`There is no file ${file}.`);
	return stats.size;
}

function kib(bytes: number): number {
	return Math.ceil(bytes / 1024);
}

function tellBadLines(file: string): (line: number, problems: readonly string[]) => void {
	let told = 0;
	return (line, problems) => {
		if (told < mostToldLines) process.stderr.write(`${file}:${line}: ${problems.join('; ')}\n`);
		if (told === mostToldLines)
			process.stderr.write(`${file}: more lines are bad; the report counts them.\n`);
		told++;
	};
}

/** One JSON object a line, one line for each visitor. */
class MappingFile {
	readonly #stream: WriteStream;
	readonly #known = new Set<string>();

	constructor(path: string) {
		this.#stream = createWriteStream(path, { mode: 0o600 });
	}

	add(visitor: string, vid: string): void {
		if (this.#known.has(visitor)) return;
		this.#known.add(visitor);
		this.#stream.write(`${JSON.stringify({ visitor, vid })}\n`);
	}

	async end(): Promise<void> {
		this.#stream.end();
		await finished(this.#stream);
	}
}
