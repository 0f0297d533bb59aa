/** The command `caskade-client`: what `caskade upload` does, where there is no server and no data folder. */
import { readFileSync } from 'node:fs';
import { clientUploadCommand } from '../src/capabilities/history/commands/upload-command.ts';
import { bare } from '../src/kit/cli/command.ts';
import { runProgram } from '../src/kit/cli/run-program.ts';

export function run(argv: readonly string[]): Promise<void> {
	return runProgram(async () => {
		const { version } = JSON.parse(readFileSync(new URL('package.json', import.meta.url), 'utf8'));
		return bare('caskade-client', 'upload files of subscription events to a Caskade server')
			.version(version)
			.addCommand(clientUploadCommand.build());
	}, argv);
}
