import { LRUCache } from 'lru-cache';
import type { RequestCounter } from '../access/request-counter.ts';
import type { CaskScope } from '../domain/cask-scope.ts';
import {
	type Assignment,
	drawOf,
	type Experiment,
	type ExperimentGroup,
	isRunning,
	personIn,
} from '../domain/experiment.ts';
import type { Participant } from '../domain/ownership.ts';
import type { Profile } from '../domain/profile.ts';
import type { Segment } from '../domain/segment.ts';
import { hourMs } from '../durations.ts';
import type { ServedSample } from '../scoring/serve/served-sample.ts';
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
export interface Served {
	/** Without those that an experiment holds the visitor out of. */
	readonly segments: readonly SegmentName[];
	/** Running experiments whose segment's rule the visitor fulfils, where the account tells them. */
	readonly experiments: readonly Assignment[];
}

const none: Served = { segments: [], experiments: [] };

/** A segment as pages read it. */
type SegmentName = Pick<Segment, 'id' | 'name'>;

/** Who a visitor in an experiment is. */
interface Known {
	readonly accountId: number;
	readonly readAtMs: number;
	readonly participant: Participant;
	/** By the secret of each experiment that was read. */
	readonly groups: Map<string, ExperimentGroup>;
}

const maxKnown = 20_000;
/** In between, only an experiment that has begun since is a reason to look which customer a visitor has shown. */
const rememberMs = hourMs;

/** Reads scores and segments of a visitor or visit; empty lists where nothing is known. */
export class VisitorReads {
	readonly #reader: ServingReader;
	readonly #scorer: VisitorScorer;
	readonly #now: () => number;
	readonly #counter: Pick<RequestCounter, 'readExperiment'>;
	readonly #visitors = new LRUCache<string, Known>({ max: maxKnown });
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
		const nowMs = this.#now();
		const { experiments, tellsExperiments } = subject.account;
		if (experiments.length === 0) return { segments: matching.map(nameOf), experiments: [] };
		const running = experiments.filter((experiment) => isRunning(experiment, nowMs));
		const about = matching.map(({ id }) => running.find(({ segment }) => segment === id));
		if (!about.some(Boolean)) return { segments: matching.map(nameOf), experiments: [] };
		const latestFromMs = Math.max(...about.map((experiment) => experiment?.fromMs ?? 0));
		return mapMaybePromise(this.#known(subject, nowMs, latestFromMs), (known) => {
			const segments: SegmentName[] = [];
			const assignments: Assignment[] = [];
			for (const [place, segment] of matching.entries()) {
				const experiment = about[place];
				const group = experiment && this.#groupOf(known, experiment);
				if (group && tellsExperiments) assignments.push({ experiment: experiment.name, group });
				if (group !== 'holdout') segments.push(nameOf(segment));
			}
			return { segments, experiments: assignments };
		});
	}

	#groupOf({ accountId, participant, groups }: Known, experiment: Experiment): ExperimentGroup {
		let group = groups.get(experiment.secret);
		if (group === undefined) {
			const draw = drawOf(experiment, personIn(experiment, participant));
			this.#counter.readExperiment(accountId, experiment, draw);
			group = draw.group;
			groups.set(experiment.secret, group);
		}
		return group;
	}

	/** Remembered for a while, from the first read on: reads in between make it no younger. */
	#known(
		{ account, scope, subject }: Subject,
		readAtMs: number,
		latestFromMs: number,
	): Known | Promise<Known> {
		const before = this.#visitors.peek(subject);
		const isKept =
			before?.accountId === account.id &&
			before.readAtMs >= latestFromMs &&
			readAtMs - before.readAtMs < rememberMs;
		if (isKept) return before;
		return mapMaybePromise(this.#reader.participant(account.id, scope, subject), (found) => {
			const participant = found ?? { vid: subject, customer: null };
			const known = { accountId: account.id, readAtMs, participant, groups: new Map() };
			this.#visitors.set(subject, known);
			return known;
		});
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

/** Applies `fn` to a value or a promise. A promise costs a turn of the microtask queue, which a value does not need. */
export function mapMaybePromise<Value, Next>(
	value: Value | Promise<Value>,
	fn: (value: Value) => Next | Promise<Next>,
): Next | Promise<Next> {
	return value instanceof Promise ? value.then(fn) : fn(value);
}
