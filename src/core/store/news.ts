import { monotonicMs } from '../clock.ts';
import { hourMs } from '../durations.ts';
import type { Store } from './store.ts';

/** Some work falls due by time alone. */
const maxQuietMs = 6 * hourMs;

/** Which accounts have something new for a job since it last found nothing left to do. */
export class News {
	readonly #store: Store;
	#marks: ReadonlyMap<number, string> = new Map();
	readonly #done = new Map<number, { readonly mark: string | undefined; readonly atMs: number }>();

	constructor(store: Store) {
		this.#store = store;
	}

	async among<Account extends { readonly id: number }>(accounts: readonly Account[]): Promise<Account[]> {
		// Of before the visits: what is written meanwhile is new.
		this.#marks = await this.#store.marks(accounts.map(({ id }) => id));
		return accounts.filter(({ id }) => {
			const [mark, done] = [this.#marks.get(id), this.#done.get(id)];
			return mark === undefined || done?.mark !== mark || monotonicMs() - done.atMs >= maxQuietMs;
		});
	}

	/** Nothing is left to do in an account that `among` has named. */
	done(accountId: number): void {
		this.#done.set(accountId, { mark: this.#marks.get(accountId), atMs: monotonicMs() });
	}
}
