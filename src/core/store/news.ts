import { monotonicMs } from '../clock.ts';
import { hourMs } from '../durations.ts';
import type { Store } from './store.ts';

/** Some work falls due by time alone. */
const maxQuietMs = 6 * hourMs;

/** Which accounts, by number, have something new for a job since it last found nothing left to do. */
export class News {
	readonly #store: Store;
	/** Of those that `among` has named, until they are done. */
	#marks: Map<number, string | undefined> = new Map();
	readonly #done = new Map<number, string>();
	#doneSinceMs = monotonicMs();

	constructor(store: Store) {
		this.#store = store;
	}

	async among(accountIds: readonly number[]): Promise<readonly number[]> {
		if (monotonicMs() - this.#doneSinceMs >= maxQuietMs) {
			this.#done.clear();
			this.#doneSinceMs = monotonicMs();
		}
		// Of before the visits: what is written meanwhile is new.
		this.#marks = await changedMarks(this.#store, accountIds, this.#done);
		return [...this.#marks.keys()];
	}

	/** Nothing is left to do in an account that `among` has named. */
	done(accountId: number): void {
		const mark = this.#marks.get(accountId);
		if (mark !== undefined) this.#done.set(accountId, mark);
		this.#marks.delete(accountId);
	}
}

/** The accounts whose marks are not those that are known, with their marks: of thousands, few. Who has no mark is always among them. */
export async function changedMarks(
	store: Store,
	accountIds: readonly number[],
	known: ReadonlyMap<number, string>,
): Promise<Map<number, string | undefined>> {
	const marks = await store.marks(accountIds);
	return new Map(
		accountIds
			.values()
			.map((id) => [id, marks.get(id)] as const)
			.filter(([id, mark]) => mark === undefined || known.get(id) !== mark),
	);
}
