import type { CaskScope } from '../domain/cask-scope.ts';
import type { Assignment } from '../domain/experiment-group.ts';
import type { Profile } from '../domain/profile.ts';
import type { Segment } from '../domain/segment.ts';
import type { GoalScore, VisitorScorer } from '../scoring/serve/visitor-scorer.ts';
import type { KnownAccount } from '../store/control/control-store.ts';
import type { ServingReader } from '../store/serving.ts';
import { matchingSegments, readScores } from './matching.ts';
import { ruleFacts } from './rule-facts.ts';

/** The visitor, or the visit, whose data is read. */
export interface Subject {
	readonly account: KnownAccount;
	readonly scope: CaskScope;
	/** A `vid` or a `sid`, depending on the scope. */
	readonly subject: string;
}

/** What a page is told about its visitor. */
export interface ServedSegments {
	/** Without those that an experiment holds the visitor out of. */
	readonly segments: readonly SegmentName[];
	/** Running experiments whose segment's rule the visitor fulfils, where the account tells them. */
	readonly experiments: readonly Assignment[];
}

const none: ServedSegments = { segments: [], experiments: [] };

/** A segment as pages read it. */
type SegmentName = Pick<Segment, 'id' | 'name'>;

/** Who takes part in reads. Who is missing costs a read nothing. */
export interface ReadHooks {
	readonly withholding?:
		| {
				/** Which of the segments whose rule a visitor fulfils are told, and what more. */
				withhold(
					subject: Subject,
					matching: readonly Segment[],
					nowMs: number,
				): AllowedSegments | Promise<AllowedSegments>;
		  }
		| undefined;
	readonly sample?:
		| {
				/** Sees the scores that a page is told of a visitor. */
				add(accountId: number, vid: string, scores: readonly GoalScore[], nowMs: number): void;
		  }
		| undefined;
}

/** What `withhold` lets through. */
export interface AllowedSegments {
	readonly segments: readonly Segment[];
	readonly experiments: readonly Assignment[];
}

/** Reads scores and segments of a visitor or visit; empty lists where nothing is known. */
export class VisitorReads {
	readonly #reader: ServingReader;
	readonly #scorer: VisitorScorer;
	readonly #now: () => number;
	readonly #hooks: ReadHooks;

	/** @param now milliseconds since 1970 */
	constructor(reader: ServingReader, scorer: VisitorScorer, now: () => number, hooks: ReadHooks = {}) {
		this.#reader = reader;
		this.#scorer = scorer;
		this.#now = now;
		this.#hooks = hooks;
	}

	/** Synchronous where the store is. @throws StorageError */
	scores(subject: Subject, explain = false): GoalScore[] | Promise<GoalScore[]> {
		const { account, scope, subject: vid } = subject;
		return mapMaybePromise(this.#profile(subject), (profile) => {
			if (!profile) return [];
			const made = this.#scorer.scores(account, scope, profile, explain);
			const sample = scope === 'vid' ? this.#hooks.sample : undefined;
			if (!sample) return made;
			return mapMaybePromise(made, (scores) => {
				sample.add(account.id, vid, scores, this.#now());
				return scores;
			});
		});
	}

	/** Synchronous where the store is. @throws StorageError */
	segments(subject: Subject): ServedSegments | Promise<ServedSegments> {
		const { account, scope } = subject;
		const scoresOf = (profile: Profile) =>
			readScores(account.segments) ? this.#scorer.scores(account, scope, profile, false) : [];
		return mapMaybePromise(this.#profile(subject), (profile) =>
			profile
				? mapMaybePromise(scoresOf(profile), (scores) => {
						const nowMs = this.#now();
						const facts = ruleFacts(profile, scores, nowMs, account.cadences);
						const matching = matchingSegments(account.segments, facts);
						const told = this.#hooks.withholding?.withhold(subject, matching, nowMs) ?? {
							segments: matching,
							experiments: [],
						};
						return mapMaybePromise(told, servedOf);
					})
				: none,
		);
	}

	#profile({ account, scope, subject }: Subject): Profile | null | Promise<Profile | null> {
		return scope === 'vid'
			? this.#reader.visitor(account.id, subject)
			: this.#reader.visit(account.id, subject);
	}
}

function servedOf({ segments, experiments }: AllowedSegments): ServedSegments {
	return { segments: segments.map(nameOf), experiments };
}

function nameOf({ id, name }: Segment): SegmentName {
	return { id, name };
}

/** Applies `fn` to a value or a promise. A promise costs a turn of the microtask queue, which a value does not need. */
export function mapMaybePromise<Value, Next>(
	value: Value | Promise<Value>,
	fn: (value: Value) => Next | Promise<Next>,
): Next | Promise<Next> {
	return value instanceof Promise ? value.then(fn) : fn(value);
}
