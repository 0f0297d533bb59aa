import type { Band } from '../../../core/domain/goal.ts';
import { dayMs } from '../../../core/durations.ts';
import type { GoalScore } from '../../../core/scoring/serve/score-reference.ts';
import { keptOfStratum, type ServedScore } from '../store/served-scores.ts';

/** What a server that is killed loses of its sample. */
const keepEveryMs = 60_000;
/** Waiting scores of all accounts: some ten megabytes. */
const maxWaiting = 100_000;

/** What was drawn of a goal and a band today. */
interface Stratum {
	share: number;
	drawn: number;
}

interface ServedSampleOptions {
	readonly keep: (accountId: number, scores: readonly ServedScore[]) => void;
	readonly random?: () => number;
	readonly everyMs?: number;
}

/**
 * A random sample of the scores that pages are told, by goal, band and day. All are drawn until there are as many as are kept;
 * then half of them are, and so on, so that how many are told makes no difference. Scores wait in memory and are kept once a
 * minute.
 */
export class ServedSample {
	readonly #options: ServedSampleOptions;
	readonly #random: () => number;
	readonly #timer: NodeJS.Timeout;
	/** By account, then by goal. A text made of both and the band would cost more than all the rest. */
	readonly #strata = new Map<number, Map<string, Readonly<Record<Band, Stratum>>>>();
	#day = 0;
	#waiting = new Map<number, ServedScore[]>();
	#waits = 0;

	constructor(options: ServedSampleOptions) {
		this.#options = options;
		this.#random = options.random ?? Math.random;
		this.#timer = setInterval(() => this.flush(), options.everyMs ?? keepEveryMs).unref();
	}

	/** On the way of each read. */
	add(accountId: number, vid: string, scores: readonly GoalScore[], nowMs: number): void {
		const day = Math.floor(nowMs / dayMs);
		if (day !== this.#day) {
			this.#strata.clear();
			this.#day = day;
		}
		let strata = this.#strata.get(accountId);
		if (!strata) {
			strata = new Map();
			this.#strata.set(accountId, strata);
		}
		for (const { goal, band, score } of scores) {
			let bands = strata.get(goal);
			if (!bands) {
				const begun = () => ({ share: 1, drawn: 0 });
				bands = { low: begun(), medium: begun(), high: begun() };
				strata.set(goal, bands);
			}
			const stratum = bands[band];
			if (stratum.share < 1 && this.#random() >= stratum.share) continue;
			if (++stratum.drawn >= keptOfStratum) {
				stratum.share /= 2;
				stratum.drawn /= 2;
			}
			if (this.#waits >= maxWaiting) return;
			this.#waits++;
			const drawn = { vid, goal, atMs: Math.floor(nowMs), band, millionths: Math.round(score * 1e6) };
			const waiting = this.#waiting.get(accountId);
			if (waiting) waiting.push(drawn);
			else this.#waiting.set(accountId, [drawn]);
		}
	}

	/** Hands over what waits. */
	flush(): void {
		const waiting = this.#waiting;
		this.#waiting = new Map();
		this.#waits = 0;
		for (const [accountId, scores] of waiting) this.#options.keep(accountId, scores);
	}

	stop(): void {
		clearInterval(this.#timer);
		this.flush();
	}
}
