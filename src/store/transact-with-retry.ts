import { ConcurrentChangeError } from '../errors.ts';
import type { Steps } from './steps.ts';
import type { Store } from './store.ts';

const maxRetries = 5;

/** Runs steps in one transaction beside a serving process. Retries after a concurrent change or a deadlock. */
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
