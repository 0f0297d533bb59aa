import type { Touch } from '../../core/domain/touch.ts';
import { dayMs } from '../../core/durations.ts';
import { valueAt } from './exact-percentile.ts';
import { LabelNumbers } from './label-numbers.ts';

/**
 * How long a visitor without a subscription must have stayed away to be lost: longer than 99 of 100 subscribers ever did on their
 * way, from touch to touch and from the last one to the subscription. Never longer than a path may be.
 * @param converted the paths of subscriptions
 */
export function lostAfterMs(
	converted: readonly { readonly path: readonly Pick<Touch, 'atMs'>[]; readonly convertedAtMs: number }[],
	lookbackDays: number,
): number {
	const waits = converted.flatMap(({ path, convertedAtMs }) => {
		if (path.length === 0) return [];
		let longestMs = 0;
		for (const [place, { atMs }] of path.entries())
			longestMs = Math.max(longestMs, (path[place + 1]?.atMs ?? convertedAtMs) - atMs);
		return [longestMs];
	});
	const longestMs = valueAt(waits, 0.99) ?? Number.POSITIVE_INFINITY;
	return Math.min(lookbackDays * dayMs, Math.max(dayMs, longestMs));
}

/** The path of visitors who did not subscribe, by the numbers of its labels. */
export interface LostLabels {
	readonly labels: readonly number[];
	readonly visitors: number;
}

const end = -1;

/** The paths of visitors who have not subscribed. There may be millions: they are numbers in one list. */
export class LostPaths {
	readonly labels: LabelNumbers;
	#steps = new Int32Array(1024);
	#length = 0;
	readonly #lastAtMs: number[] = [];
	/** See `lostAfterMs`. Null where it is not known. */
	afterMs: number | null = null;

	/** How many there are. */
	get visitors(): number {
		return this.#lastAtMs.length;
	}

	constructor(labels = new LabelNumbers()) {
		this.labels = labels;
	}

	/** Adds a step to the visitor's path. @param label its number among `labels` */
	step(label: number): void {
		if (this.#length === this.#steps.length)
			this.#steps = new Int32Array(this.#steps.buffer.transfer(2 * this.#steps.byteLength));
		this.#steps[this.#length++] = label;
	}

	/** Ends the visitor's path. @param lastAtMs when the visitor was there last */
	end(lastAtMs = Number.NEGATIVE_INFINITY): void {
		this.step(end);
		this.#lastAtMs.push(lastAtMs);
	}

	/** Leaves out those who were there so lately that they may still subscribe. */
	decide(asOfMs: number, afterMs: number): void {
		this.afterMs = afterMs;
		let [kept, visitors, from, visitor] = [0, 0, 0, 0];
		for (let place = 0; place < this.#length; place++) {
			if (this.#steps[place] !== end) continue;
			const lastAtMs = this.#lastAtMs[visitor++] as number;
			if (lastAtMs <= asOfMs - afterMs) {
				this.#steps.copyWithin(kept, from, place + 1);
				kept += place + 1 - from;
				this.#lastAtMs[visitors++] = lastAtMs;
			}
			from = place + 1;
		}
		this.#length = kept;
		this.#lastAtMs.length = visitors;
	}

	/** How often each label occurs. */
	counts(): Map<string, number> {
		return this.labels.counts(this.#steps.subarray(0, this.#length));
	}

	/** The distinct paths with other numbers, in an order that only depends on these. @param numberOf gives at most 65,536 */
	labelled(numberOf: (label: string) => number): LostLabels[] {
		const numbers = this.labels.names.map(numberOf);
		const visitors = new Map<string, number>();
		// A text is the quickest key of a list of numbers.
		let path = '';
		for (let place = 0; place < this.#length; place++) {
			const label = this.#steps[place] as number;
			if (label !== end) path += String.fromCharCode(numbers[label] as number);
			else {
				if (path !== '') visitors.set(path, (visitors.get(path) ?? 0) + 1);
				path = '';
			}
		}
		return [...visitors.keys()].sort().map((known) => ({
			labels: Array.from({ length: known.length }, (_, step) => known.charCodeAt(step)),
			visitors: visitors.get(known) as number,
		}));
	}
}
