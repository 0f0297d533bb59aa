import { LRUCache } from 'lru-cache';
import type { RequestCounter } from '../access/request-counter.ts';
import type { CaskScope } from '../domain/cask-scope.ts';
import { type Assignment, drawOf, type Experiment } from '../domain/experiment.ts';
import type { Profile } from '../domain/profile.ts';
import type { Segment } from '../domain/segment.ts';
import { hourMs } from '../durations.ts';
import type { ServedSample } from '../scoring/serve/served-sample.ts';
import type { GoalScore, VisitorScorer } from '../scoring/serve/visitor-scorer.ts';
import type { KnownAccount } from '../store/control/control-store.ts';
import type { ServingReader } from '../store/serving.ts';
import { type PlacedExperiment, type PlacedSegment, placedSegments, type SegmentName } from './held-out.ts';
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
export interface Served {
	/** Without those that an experiment holds the visitor out of. */
	readonly segments: readonly SegmentName[];
	/** Running experiments whose segment's rule the visitor fulfils, where the account tells them. */
	readonly experiments: readonly Assignment[];
}

const none: Served = { segments: [], experiments: [] };

/** A visitor who has entered an experiment. */
interface Entered {
	readonly accountId: number;
	/** Where they are others than the present ones, all is drawn anew. */
	readonly experiments: readonly Experiment[];
	readonly readAtMs: number;
	readonly person: string;
	/** A bit for each experiment, by its place: whether it was drawn, and whether the visitor is held out. */
	drawn: number;
	heldOut: number;
}

const maxEntered = 20_000;
/** A customer id that joins a visitor to another one after the first entry is overlooked for so long. */
const rememberMs = hourMs;

/** Reads scores and segments of a visitor or visit; empty lists where nothing is known. */
export class VisitorReads {
	readonly #reader: ServingReader;
	readonly #scorer: VisitorScorer;
	readonly #now: () => number;
	readonly #counter: Pick<RequestCounter, 'readExperiment'>;
	readonly #entered = new LRUCache<string, Entered>({ max: maxEntered });
	readonly #sample: ServedSample | undefined;

	/**
	 * @param now milliseconds since 1970
	 * @param sample draws from the visitors' scores that are read
	 */
	constructor(
		reader: ServingReader,
		scorer: VisitorScorer,
		now: () => number,
		counter: Pick<RequestCounter, 'readExperiment'>,
		sample?: ServedSample | undefined,
	) {
		this.#reader = reader;
		this.#scorer = scorer;
		this.#now = now;
		this.#counter = counter;
		this.#sample = sample;
	}

	/** Synchronous where the store is. @throws StorageError */
	scores(subject: Subject, explain = false): GoalScore[] | Promise<GoalScore[]> {
		const { account, scope, subject: vid } = subject;
		return mapMaybePromise(this.#profile(subject), (profile) => {
			if (!profile) return [];
			const made = this.#scorer.scores(account, scope, profile, explain);
			const sample = scope === 'vid' ? this.#sample : undefined;
			if (!sample) return made;
			return mapMaybePromise(made, (scores) => {
				sample.add(account.id, vid, scores, this.#now());
				return scores;
			});
		});
	}

	/** Synchronous where the store is. @throws StorageError */
	segments(subject: Subject): Served | Promise<Served> {
		const { account, scope } = subject;
		const scoresOf = (profile: Profile) =>
			readScores(account.segments) ? this.#scorer.scores(account, scope, profile, false) : [];
		return mapMaybePromise(this.#profile(subject), (profile) =>
			profile
				? mapMaybePromise(scoresOf(profile), (scores) => {
						const facts = ruleFacts(profile, scores, this.#now(), account.cadences);
						return this.#served(subject, matchingSegments(account.segments, facts));
					})
				: none,
		);
	}

	#served(subject: Subject, matching: readonly Segment[]): Served | Promise<Served> {
		const { segments, experiments, tellsExperiments } = subject.account;
		if (experiments.length === 0) return { segments: matching.map(nameOf), experiments: [] };
		const placed = placedSegments(segments, experiments);
		const tell = (entered: Entered) => this.#withoutHeldOut(entered, matching, placed, tellsExperiments);
		const known = this.#known(subject);
		if (known?.experiments === experiments) return tell(known);
		if (!matching.some((segment) => placed.get(segment)?.experiments))
			return { segments: matching.map(nameOf), experiments: [] };
		return mapMaybePromise(this.#enter(subject, known), tell);
	}

	#withoutHeldOut(
		entered: Entered,
		matching: readonly Segment[],
		placed: ReadonlyMap<Segment, PlacedSegment>,
		tells: boolean,
	): Served {
		const nowMs = this.#now();
		const segments: SegmentName[] = [];
		const assignments: Assignment[] = [];
		for (const segment of matching) {
			const { name, experiments } = placed.get(segment) as PlacedSegment;
			const running = runningOf(experiments, nowMs);
			const isHeldOut = running !== undefined && this.#isHeldOut(entered, running);
			if (running && tells) assignments.push(isHeldOut ? running.holdout : running.treated);
			if (!isHeldOut) segments.push(name);
		}
		return { segments, experiments: assignments };
	}

	#isHeldOut(entered: Entered, { experiment, bit }: PlacedExperiment): boolean {
		if ((entered.drawn & bit) === 0) {
			const draw = drawOf(experiment, entered.person);
			this.#counter.readExperiment(entered.accountId, experiment, draw);
			entered.drawn |= bit;
			if (draw.group === 'holdout') entered.heldOut |= bit;
		}
		return (entered.heldOut & bit) !== 0;
	}

	/** Who has entered is remembered for a while, from the first read on: reads in between make it no younger. */
	#known({ account, subject }: Subject): Entered | undefined {
		const known = this.#entered.peek(subject);
		return known?.accountId === account.id && this.#now() - known.readAtMs < rememberMs ? known : undefined;
	}

	/** @param known as whom the visitor entered other experiments */
	#enter(
		{ account: { id: accountId, experiments }, scope, subject }: Subject,
		known: Entered | undefined,
	): Entered | Promise<Entered> {
		const readAtMs = this.#now();
		const enter = (person: string) => {
			const entered = { accountId, experiments, readAtMs, person, drawn: 0, heldOut: 0 };
			this.#entered.set(subject, entered);
			return entered;
		};
		if (known) return enter(known.person);
		return mapMaybePromise(this.#reader.person(accountId, scope, subject), (person) =>
			enter(person ?? subject),
		);
	}

	#profile({ account, scope, subject }: Subject): Profile | null | Promise<Profile | null> {
		return scope === 'vid'
			? this.#reader.visitor(account.id, subject)
			: this.#reader.visit(account.id, subject);
	}
}

function nameOf({ id, name }: Segment): SegmentName {
	return { id, name };
}

function runningOf(
	experiments: readonly PlacedExperiment[] | undefined,
	nowMs: number,
): PlacedExperiment | undefined {
	if (experiments) for (const one of experiments) if (one.fromMs <= nowMs && nowMs < one.untilMs) return one;
	return undefined;
}

/** Applies `fn` to a value or a promise. A promise costs a turn of the microtask queue, which a value does not need. */
export function mapMaybePromise<Value, Next>(
	value: Value | Promise<Value>,
	fn: (value: Value) => Next | Promise<Next>,
): Next | Promise<Next> {
	return value instanceof Promise ? value.then(fn) : fn(value);
}
