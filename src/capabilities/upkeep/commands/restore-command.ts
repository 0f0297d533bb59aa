import { OperatorError } from '../../../core/errors.ts';
import { counted } from '../../../core/format/numbers.ts';
import { SchemaTooOldError } from '../../../core/store/migrations.ts';
import { dataFolderAt } from '../../../core/store/open.ts';
import { command } from '../../../kit/cli/command.ts';
import { print, printLine, withStore } from '../../../kit/cli/output.ts';
import { countMissing } from '../../visitors/store/erasing-again.ts';

export const restoreCommand = command('restore', 'replace the databases with a backup')
	.description(
		`Put the databases of a backup in the place of those of the data folder, which are moved into a folder 'replaced-…' in it. Stop
the server first. The backup is checked before anything changes, and stays as it is. The list of erasures stays, which
names who was erased after the backup: 'caskade visitor erase-again' erases them again. Run it before you start the server.

If it is interrupted, run it again. To undo it, restore the folder 'replaced-…'. On PostgreSQL, restore with its own tools.`,
	)
	.argument('<dir>', 'the backup, a folder that caskade backup has made')
	.common()
	.action(async (options, _, dir) => {
		const folder = dataFolderAt(options.database, options.stage);
		if (folder === undefined)
			throw new OperatorError(
				`'caskade restore' puts a backup into a data folder; on PostgreSQL restore with pg_restore or your server's own tools, and then run 'caskade visitor erase-again'.`,
			);
		const { restoreDatabases } = await import('../store/restore.ts');
		const { accounts, replaced } = restoreDatabases(folder, dir, Date.now());
		const { isOlder, erasuresMissing } = await lookAt(options);
		print(options, { dir, accounts, replaced, isOlder, erasuresMissing }, () => {
			printLine(`${counted(accounts, 'account')} restored from ${dir}.`);
			if (replaced !== null)
				printLine(
					`What was there is in ${replaced}: delete that once you do not need it, it has personal data.`,
				);
			const again = 'caskade visitor erase-again';
			if (isOlder)
				printLine(
					`The backup is of an earlier version. Before you start the server: caskade migrate, then ${again}`,
				);
			else if (erasuresMissing > 0)
				printLine(
					`The list has ${counted(erasuresMissing, 'erasure')} that the backup does not know. Before you start the server, erase again: ${again}`,
				);
		});
	});

/** What a restored database needs before it is served. */
async function lookAt(options: { readonly database: string; readonly stage?: string | undefined }) {
	try {
		return { isOlder: false, erasuresMissing: await withStore(options, countMissing) };
	} catch (error) {
		if (error instanceof SchemaTooOldError) return { isOlder: true, erasuresMissing: 0 };
		throw error;
	}
}
