import { dataFolderAt } from '../../../core/store/open.ts';
import type { StorePlace } from '../../../core/store/store.ts';
import type { CopyTarget } from './copy-target.ts';

/**
 * Prepares to receive another store's content.
 * @throws OperatorError where the store is in use for anything else
 */
export async function openCopyTarget({ database, stage }: StorePlace): Promise<CopyTarget> {
	const folder = dataFolderAt(database);
	if (folder !== undefined) {
		const { SqliteCopyTarget } = await import('./sqlite-copy-target.ts');
		return SqliteCopyTarget.open(folder);
	}
	const { PostgresCopyTarget } = await import('./postgres-copy-target.ts');
	return PostgresCopyTarget.open(database, stage);
}
