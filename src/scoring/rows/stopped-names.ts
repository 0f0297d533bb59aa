import { dayMs } from '../../durations.ts';
import type { VisitorHistory } from '../../store/account/reading/histories.ts';
import { type VocabularyKind, vocabularyKinds } from './profile-features.ts';

/** A name that hits or uploads carried, and no longer do. */
export interface StoppedName {
	readonly kind: VocabularyKind;
	readonly name: string;
	/** The last day (UTC) with it, as 2026-11-21. */
	readonly lastDay: string;
}

/** A name has stopped if it would have been expected on this many days since, at the pace of the time before. */
const expectedDays = 10;

/** Counts on which days names were used, to find those that a site has stopped to send. */
export class NameUse {
	readonly #used: Readonly<Record<VocabularyKind, Map<string, Set<number>>>> = {
		page: new Map(),
		channel: new Map(),
		event: new Map(),
		evt: new Map(),
	};
	readonly #activeDays = new Set<number>();

	take({ hits, events }: Pick<VisitorHistory, 'hits' | 'events'>): void {
		for (const { atMs, page, channel, events: names } of hits) {
			const day = Math.floor(atMs / dayMs);
			this.#activeDays.add(day);
			if (page !== null) this.#add('page', page, day);
			this.#add('channel', channel, day);
			for (const name of names) this.#add('event', name, day);
		}
		for (const { entry } of events) this.#add('evt', entry.evt, Math.floor(entry.atMs / dayMs));
	}

	/** Only days with hits count, and a name that was rare before may be away for longer. */
	stopped(): StoppedName[] {
		const active = [...this.#activeDays];
		return vocabularyKinds.flatMap((kind) =>
			[...this.#used[kind]].flatMap(([name, days]) => {
				const used = [...days];
				const [first, last] = [Math.min(...used), Math.max(...used)];
				const since = active.filter((day) => day > last).length;
				const during = new Set([...used, ...active.filter((day) => day >= first && day <= last)]).size;
				if ((since * used.length) / during < expectedDays) return [];
				return [{ kind, name, lastDay: new Date(last * dayMs).toISOString().slice(0, 10) }];
			}),
		);
	}

	#add(kind: VocabularyKind, name: string, day: number): void {
		this.#used[kind].getOrInsertComputed(name, () => new Set()).add(day);
	}
}
