import { type Command, CommanderError } from 'commander';
import { RuleError } from '../../core/segments/rule-error.ts';
import { handleLostOutput } from './output.ts';

/** Runs a command line. An error goes to standard error as one sentence and sets the exit code to 1. */
export async function runProgram(load: () => Promise<Command>, argv: readonly string[]): Promise<void> {
	handleLostOutput();
	try {
		await (await load()).parseAsync([...argv]);
	} catch (error) {
		if (error instanceof CommanderError) {
			process.exitCode = error.exitCode;
			return;
		}
		process.stderr.write(`caskade: ${sentence(error)}\n`);
		process.exitCode = 1;
	}
}

function sentence(error: unknown): string {
	const { code, path, message } = error as NodeJS.ErrnoException;
	if (code === 'ERR_SQLITE_ERROR')
		return `The data folder cannot be used (${message}). Run 'caskade doctor' to find the cause.`;
	if (code === 'ENOSPC') return 'The disk is full.';
	if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') return `No permission to use ${path}.`;
	if (code === 'ENOTDIR' || code === 'EEXIST') return `${path} is not a folder.`;
	// The message shows the place on lines of its own.
	if (error instanceof RuleError) return message;
	const [line = ''] = (message || String(error)).split('\n');
	return /[.!?]$/.test(line) ? line : `${line}.`;
}
