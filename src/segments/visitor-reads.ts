import type { CaskScope } from '../domain/cask-scope.ts';
import type { Profile } from '../domain/profile.ts';
import type { GoalScore, VisitorScorer } from '../scoring/serve/visitor-scorer.ts';
import type { KnownAccount } from '../store/control/control-store.ts';
import type { ServingReader } from '../store/store.ts';
import { matchingSegments, readScores } from './matching.ts';
import { ruleFacts } from './rule-facts.ts';

/** The visitor, or the visit, whose data is read. */
export interface Subject {
	readonly account: KnownAccount;
	readonly scope: CaskScope;
	/** A `vid` or a `sid`, depending on the scope. */
	readonly subject: string;
}

export interface SegmentName {
	readonly id: string;
	readonly name: string;
}

/** Reads scores and segments of a visitor or visit; empty lists where nothing is known. */
export class VisitorReads {
	readonly #reader: ServingReader;
	readonly #scorer: VisitorScorer;
	readonly #now: () => number;

	/** @param now milliseconds since 1970 */
	constructor(reader: ServingReader, scorer: VisitorScorer, now: () => number) {
		this.#reader = reader;
		this.#scorer = scorer;
		this.#now = now;
	}

	/** Synchronous where the store is. @throws StorageError */
	scores(subject: Subject, explain = false): GoalScore[] | Promise<GoalScore[]> {
		return mapMaybePromise(this.#profile(subject), (profile) =>
			profile ? this.#scorer.scores(subject.account, subject.scope, profile, explain) : [],
		);
	}

	/** Synchronous where the store is. @throws StorageError */
	segments(subject: Subject): SegmentName[] | Promise<SegmentName[]> {
		const { account, scope } = subject;
		const scoresOf = (profile: Profile) =>
			readScores(account.segments) ? this.#scorer.scores(account, scope, profile, false) : [];
		return mapMaybePromise(this.#profile(subject), (profile) =>
			profile
				? mapMaybePromise(scoresOf(profile), (scores) =>
						matchingSegments(account.segments, ruleFacts(profile, scores, this.#now(), account.cadences)).map(
							({ id, name }) => ({ id, name }),
						),
					)
				: [],
		);
	}

	#profile({ account, scope, subject }: Subject): Profile | null | Promise<Profile | null> {
		return scope === 'vid'
			? this.#reader.visitor(account.id, subject)
			: this.#reader.visit(account.id, subject);
	}
}

/** Applies `fn` to a value or a promise. A promise costs a turn of the microtask queue, which a value does not need. */
export function mapMaybePromise<Value, Next>(
	value: Value | Promise<Value>,
	fn: (value: Value) => Next | Promise<Next>,
): Next | Promise<Next> {
	return value instanceof Promise ? value.then(fn) : fn(value);
}
