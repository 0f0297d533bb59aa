import { writeFileSync } from 'node:fs';
import { OperatorError } from '../../core/errors.ts';

/**
 * Writes a file that the operator asked for.
 * @param what names it in the error
 * @throws OperatorError where it cannot be written
 */
export function writeOutputFile(file: string, text: string, what = 'The page'): void {
	try {
		writeFileSync(file, text);
	} catch (error) {
		throw new OperatorError(
			`${what} could not be written to ${file} (${(error as NodeJS.ErrnoException).code}).`,
		);
	}
}
