import { OperatorError } from '../errors.ts';

/** An invalid rule. The message shows the line, with a caret under the place. */
export class RuleError extends OperatorError {
	override readonly name = 'RuleError';
	/** Both count from 1. */
	readonly line: number;
	readonly column: number;

	constructor(problem: string, text: string, offset: number) {
		const before = text.slice(0, offset).split('\n');
		const line = before.length;
		const lead = before.at(-1) as string;
		const shown = text.split('\n')[line - 1] as string;
		// Tabs are kept, so that the caret is aligned.
		super(
			`${problem} (line ${line}, column ${lead.length + 1})\n  ${shown}\n  ${lead.replaceAll(/[^\t]/g, ' ')}^`,
		);
		this.line = line;
		this.column = lead.length + 1;
	}
}
