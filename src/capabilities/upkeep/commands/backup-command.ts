import { command } from '../../../kit/cli/command.ts';
import { print, printLine } from '../../../kit/cli/output.ts';

export const backupCommand = command('backup', 'copy everything into a new folder while servers run')
	.description(
		`Copy the control database and every account's database into DIR, which must be empty or not exist. DIR appears
when the copy is complete and on disk. Servers keep running. To restore, stop the server and run:
  caskade restore DIR`,
	)
	.argument('<dir>', 'the new folder')
	.onStore(
		async (store, options, dir) => {
			const databases: { database: string; bytes: number }[] = [];
			await store.backup(dir, (copy) => {
				databases.push(copy);
				if (!options.json) printLine(`${copy.database}: ${copy.bytes} bytes`);
			});
			print(options, { dir, databases }, `Backup complete in ${dir}.`);
		},
		{ olderSchema: 'leave' },
	);
