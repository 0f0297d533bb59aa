import { createInterface } from 'node:readline/promises';
import type { Readable, Writable } from 'node:stream';
import { OperatorError } from '../../core/errors.ts';

/**
 * For commands that cannot be undone.
 * @param instead what a script says in place of an answer
 * @throws OperatorError where there is nobody to ask
 */
export function requireTerminal(instead: string): void {
	if (!process.stdin.isTTY || !process.stderr.isTTY)
		throw new OperatorError(`It cannot be undone, and there is no terminal to ask on: add ${instead}.`);
}

/** Asks where there is a terminal, before what cannot be undone but is small enough for scripts to do without a word. */
export async function askOnTerminal(
	warning: string,
	word: string,
	{ yes = false }: { readonly yes?: boolean | undefined },
	terminal: { input: Readable & { isTTY?: boolean }; output: Writable & { isTTY?: boolean } } = {
		input: process.stdin,
		output: process.stderr,
	},
): Promise<void> {
	if (yes || !terminal.input.isTTY || !terminal.output.isTTY) return;
	await confirm(`${warning} It cannot be undone.`, word, terminal);
}

/**
 * Asks on the terminal, beside the output.
 * @param warning what would happen
 * @param word the answer that agrees
 * @throws OperatorError on any other answer
 */
export async function confirm(
	warning: string,
	word: string,
	{ input, output }: { input: Readable; output: Writable } = { input: process.stdin, output: process.stderr },
): Promise<void> {
	const terminal = createInterface({ input, output });
	try {
		const closed = new Promise<string>((resolve) => terminal.once('close', () => resolve('')));
		const answer = await Promise.race([terminal.question(`${warning}\nType ${word} to go on: `), closed]);
		if (answer.trim() !== word) throw new OperatorError('Nothing was done.');
	} finally {
		terminal.close();
	}
}
