import type { Profile } from '../../../src/core/domain/profile.ts';
import { saveVisitors } from '../../../src/core/store/account/profiles/stored-profiles.ts';
import type { Store } from '../../../src/core/store/store.ts';

/** Stores visitors without a log. */
export function storeVisitors(
	store: Store,
	accountId: number,
	profiles: readonly (Profile | null)[],
): Promise<void> {
	return store.transact(accountId, function* () {
		yield [
			saveVisitors(
				profiles.map((profile, index) => [index.toString(16).padStart(32, '0'), profile] as const),
			),
		];
	});
}
