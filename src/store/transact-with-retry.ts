import { ConcurrentChangeError } from '../errors.ts';
import type { Steps } from './steps.ts';
import type { Store } from './store.ts';

const maxRetries = 5;

/**
 * Runs steps in one transaction beside a serving process, again where another has overtaken them, or where a database
 * server has ended them because they and another transaction have waited for each other.
 */
export async function transactWithRetry<T>(
	store: Store,
	accountId: number,
	begin: () => Steps<T>,
): Promise<T> {
	for (let attempt = 0; ; attempt++) {
		try {
			return await store.transact(accountId, begin());
		} catch (error) {
			const isDeadlock = (error as { code?: unknown }).code === '40P01';
			if (!(isDeadlock || error instanceof ConcurrentChangeError) || attempt === maxRetries) throw error;
		}
	}
}
