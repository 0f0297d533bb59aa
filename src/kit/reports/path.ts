import { samePageMs, type Touch } from '../../core/domain/touch.ts';
import { dayMs } from '../../core/durations.ts';

export const defaultLookbackDays = 90;

/** The owner's touches that are credited for a conversion: those in the lookback period before it. */
export function pathOf<T extends Pick<Touch, 'atMs'>>(
	touches: readonly T[],
	convertedAtMs: number,
	lookbackDays: number,
): readonly T[] {
	return touches.filter(({ atMs }) => isInLookback(atMs, convertedAtMs, lookbackDays));
}

export function isInLookback(atMs: number, convertedAtMs: number, lookbackDays: number): boolean {
	return atMs > convertedAtMs - lookbackDays * dayMs && atMs <= convertedAtMs;
}

/** A touch without its moment. */
export type Origin = Omit<Touch, 'atMs'>;

/** The touches of one visitor at a time. Its lists are used again, because there may be millions of visitors. */
export class VisitorTouches<Of extends Origin> {
	readonly #atMs: number[] = [];
	readonly #origins: Of[] = [];
	#lastAtMs = 0;
	#lastOrigin: Of | undefined;
	/** The number of touches. */
	length = 0;

	clear(): void {
		this.length = 0;
		this.#lastOrigin = undefined;
	}

	/**
	 * Adds the next touch in order of time, unless it repeats the previous one.
	 * @param isArrival false for a return from a payment provider, which is left out
	 */
	add(atMs: number, origin: Of, isArrival = true): void {
		const isRepeat =
			this.#lastOrigin !== undefined &&
			atMs - this.#lastAtMs < samePageMs &&
			isAlike(origin, this.#lastOrigin);
		this.#lastAtMs = atMs;
		this.#lastOrigin = origin;
		if (isRepeat || !isArrival) return;
		this.#atMs[this.length] = atMs;
		this.#origins[this.length] = origin;
		this.length++;
	}

	atMs(touch: number): number {
		return this.#atMs[touch] as number;
	}

	origin(touch: number): Of {
		return this.#origins[touch] as Of;
	}

	touches(): Touch[] {
		return Array.from({ length: this.length }, (_, touch) => {
			// Not a spread, which takes several times as long.
			const { channel, source, medium, campaign, landing } = this.origin(touch);
			return { atMs: this.atMs(touch), channel, source, medium, campaign, landing };
		});
	}
}

function isAlike(a: Origin, b: Origin): boolean {
	if (a === b) return true;
	return (
		a.channel === b.channel &&
		a.source === b.source &&
		a.medium === b.medium &&
		a.campaign === b.campaign &&
		a.landing === b.landing
	);
}
