import { maxSharing } from '../../../src/core/domain/shared-key.ts';
import { sql, values } from '../../../src/core/store/steps.ts';
import type { OpenStore } from '../../../src/core/store/store.ts';

/** Later than anything that tests store, so that nobody of a crowd is the first. */
const crowdAtMs = Date.UTC(2100, 0, 1);

/**
 * Lets nearly too many visitors have shown a key, some time ago: retention has deleted their hits and kept their links.
 * @param short how many more visitors may show the key before too many share it
 */
export async function addCrowd(
	store: OpenStore,
	accountId: number,
	{ key, short = 0, atMs = crowdAtMs }: { key: string; short?: number; atMs?: number },
): Promise<void> {
	const rows = Array.from({ length: maxSharing - short }, (_, number) => [
		key,
		atMs,
		`f${number.toString(16).padStart(31, '0')}`,
		1,
	]);
	for (let from = 0; from < rows.length; from += 500)
		await store.transact(accountId, function* () {
			yield [
				sql`INSERT INTO @claim (key, at, vid, kept) ${values(rows.slice(from, from + 500))} /* crowd */`,
			];
		});
}
