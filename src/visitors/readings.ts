import type { CaskScope } from '../access/cask.ts';
import type { GoalScore, Scorer } from '../scoring/scorer.ts';
import { compileRule, type Rule } from '../segments/rule.ts';
import type { Segment } from '../segments/segment.ts';
import type { KnownAccount } from '../store/control.ts';
import type { ServingReader } from '../store/store.ts';
import { visitFacts, visitorFacts } from './facts.ts';
import type { Profile } from './profile.ts';

/** Whose data is read: all of a visitor's, or one visit's. */
export interface Subject {
	readonly account: KnownAccount;
	readonly scope: CaskScope;
	/** A `vid` or a `sid`, as the scope says. */
	readonly subject: string;
}

export interface SegmentName {
	readonly id: string;
	readonly name: string;
}

interface CompiledSegment extends SegmentName {
	readonly rule: Rule;
}

/** Reads scores and segments of visitors and visits; empty lists where nothing is known of one. */
export class Readings {
	readonly #reader: ServingReader;
	readonly #scorer: Scorer;
	readonly #now: () => number;
	/** By the snapshot's list, which is another when anything has changed. */
	readonly #rules = new WeakMap<readonly Segment[], readonly CompiledSegment[]>();

	/** @param now milliseconds since 1970 */
	constructor(reader: ServingReader, scorer: Scorer, now: () => number) {
		this.#reader = reader;
		this.#scorer = scorer;
		this.#now = now;
	}

	/** At once, where the store answers at once. @throws StorageError */
	scores(subject: Subject, explain = false): GoalScore[] | Promise<GoalScore[]> {
		return after(this.#profile(subject), (profile) =>
			profile ? this.#scorer.scores(subject.account, subject.scope, profile, explain) : [],
		);
	}

	/** At once, where the store answers at once. @throws StorageError */
	segments(subject: Subject): SegmentName[] | Promise<SegmentName[]> {
		const { account, scope } = subject;
		return after(this.#profile(subject), (profile) =>
			profile
				? after(this.#scorer.scores(account, scope, profile, false), (scores) =>
						this.#matching(account.segments, profile, scores),
					)
				: [],
		);
	}

	#matching(segments: readonly Segment[], profile: Profile, scores: readonly GoalScore[]): SegmentName[] {
		const facts = {
			visitor: visitorFacts(profile, this.#now()),
			visit: visitFacts(profile),
			scores: new Map(scores.map(({ goal, score }) => [goal, score])),
			percentiles: new Map(scores.map(({ goal, percentile }) => [goal, percentile])),
			bands: new Map(scores.map(({ goal, band }) => [goal, band])),
		};
		return this.#compiled(segments)
			.filter(({ rule }) => rule.matches(facts))
			.map(({ id, name }) => ({ id, name }));
	}

	#profile({ account, scope, subject }: Subject): Profile | null | Promise<Profile | null> {
		return scope === 'vid'
			? this.#reader.visitor(account.id, subject)
			: this.#reader.visit(account.id, subject);
	}

	#compiled(segments: readonly Segment[]): readonly CompiledSegment[] {
		let compiled = this.#rules.get(segments);
		if (!compiled) {
			compiled = segments.map(({ id, name, rule }) => ({ id, name, rule: compileRule(rule) }));
			this.#rules.set(segments, compiled);
		}
		return compiled;
	}
}

/** What follows from a value that may be there already: a promise costs a turn of the queue, and is not needed then. */
export function after<Value, Next>(
	value: Value | Promise<Value>,
	fn: (value: Value) => Next | Promise<Next>,
): Next | Promise<Next> {
	return value instanceof Promise ? value.then(fn) : fn(value);
}
