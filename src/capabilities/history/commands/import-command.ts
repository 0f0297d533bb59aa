import { openSync, writeFileSync } from 'node:fs';
import { OperatorError } from '../../../core/errors.ts';
import { counted } from '../../../core/format/numbers.ts';
import { noteDone } from '../../../kit/cli/act-command.ts';
import { aidText, command } from '../../../kit/cli/command.ts';
import { print, printLine, printTable } from '../../../kit/cli/output.ts';
import { showProgress } from '../../../kit/cli/progress.ts';
import { learnedCadences } from '../../../kit/reading/payments.ts';
import { assumedRenewals } from '../../../kit/reports/courses.ts';
import { asWrittenOption } from '../as-written.ts';
import type { FileReport } from '../history-import.ts';
import { InputFile } from '../input-file.ts';
import { conflictsOption, exitConflicts } from './conflicts-command.ts';

/** Problems that are printed individually. */
const maxPrintedProblems = 100;

export const importCommand = command('import', 'import past hits and subscription events')
	.description(
		`Import an account's history from files: one JSON object per line, or CSV with a header. They may be compressed by gzip.

  {"type":"hit","at":"2026-01-31T10:00:00Z","visitor":"user-4711","url":"https://shop.example/pricing"}
  {"type":"subscription","at":"2026-01-31T10:05:00Z","tid":"order-1","subid":"order-1","evt":"newsletter"}

Hits may also have visit, referrer, title, events, cid, userAgent, channel and device; subscription events cid and rvn.
Invalid lines are reported by number and field and are not stored; the exit code is then 1. It is 3 if an event was not stored
because its tid is stored with other content. Nothing is stored twice: to resume an interrupted import, run the same command again. Servers may keep running. See docs/how-to/import.md.`,
	)
	.argument('<aid>', aidText)
	.argument('<file...>', 'history files, - for standard input; fastest in order of time')
	.option('--mapping <file>', 'write the vid of each visitor to this file')
	.option(...conflictsOption)
	.option(...asWrittenOption)
	.onStore(async (store, options, aid, files) => {
		using opened = new DisposableStack();
		const inputs = files.map((file) => opened.use(InputFile.open(file)));
		const account = await store.control.account(aid);
		const { id: accountId, channelRules, currency } = account;
		const mapping = options.mapping === undefined ? null : createFile(options.mapping);
		const progress = opened.adopt(showProgress(process.stderr, '', options.json ?? false), (bar) =>
			bar.end(),
		);
		// Loaded here, since no other command should wait for it.
		const { HistoryImport } = await import('../history-import.ts');
		using history = await HistoryImport.begin({
			store,
			accountId,
			channelRules,
			currency,
			nowMs: store.now(),
			idsAsWritten: options.idsAsWritten ?? false,
			onProblem: printProblems(),
		});
		const reports: FileReport[] = [];
		for (const input of inputs)
			reports.push(
				await history.read(input, (bytes) =>
					progress.update(`read ${input.name}`, bytes, input.size ?? bytes),
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
		await noteDone(store, 'history imported', account.aid);
		if (stored.hits + stored.events > 0)
			await store.control.notes.add(
				accountId,
				`History was imported: ${counted(stored.hits, 'hit')} and ${counted(stored.events, 'event')}.`,
			);
		const assumed =
			stored.events > 0 && !options.json
				? assumedRenewals(
						account,
						await store.read(accountId, learnedCadences(store.now(), account.cancellationEvt)),
					)
				: null;
		print(options, { aid, files: reports, stored }, () => {
			printTable(reports, 'No files.');
			printLine('');
			printTable([stored], '');
			if (assumed !== null) printLine(`\n${assumed}`);
		});
		if (reports.some(({ bad }) => bad > 0)) process.exitCode = 1;
		else if (stored.conflicts > 0 && options.conflicts === 'fail') process.exitCode = exitConflicts;
	});
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
