import { LRUCache } from 'lru-cache';
import type { RequestCounter } from '../../core/access/request-counter.ts';
import type { Assignment, ExperimentGroup } from '../../core/domain/experiment-group.ts';
import type { Participant } from '../../core/domain/ownership.ts';
import type { Segment } from '../../core/domain/segment.ts';
import { hourMs } from '../../core/durations.ts';
import { type AllowedSegments, mapMaybePromise, type Subject } from '../../core/segments/visitor-reads.ts';
import type { ServingReader } from '../../core/store/serving.ts';
import { drawOf, personIn } from './domain/draw.ts';
import type { Experiment } from './store/experiment.ts';
import { isRunning } from './store/experiment.ts';

/** Who a visitor in an experiment is. */
interface KnownParticipant {
	readonly accountId: number;
	readonly readAtMs: number;
	readonly participant: Participant;
	/** By the secret of each experiment that was read. */
	readonly groups: Map<string, ExperimentGroup>;
}

const maxKnown = 20_000;
/** In between, only an experiment that has begun since is a reason to look which customer a visitor has shown. */
const rememberMs = hourMs;

/** Withholds segments from the visitors whom running experiments hold out of them, and counts who asks. */
export class Withholding {
	readonly #reader: Pick<ServingReader, 'participant'>;
	readonly #counter: Pick<RequestCounter, 'readExperiment'>;
	readonly #visitors = new LRUCache<string, KnownParticipant>({ max: maxKnown });

	constructor(reader: Pick<ServingReader, 'participant'>, counter: Pick<RequestCounter, 'readExperiment'>) {
		this.#reader = reader;
		this.#counter = counter;
	}

	/** What a visitor is told of the segments whose rule it fulfils. Synchronous where the store is. @throws StorageError */
	withhold(
		subject: Subject,
		matching: readonly Segment[],
		nowMs: number,
	): AllowedSegments | Promise<AllowedSegments> {
		const { experiments, tellsExperiments } = subject.account;
		if (experiments.length === 0) return { segments: matching, experiments: [] };
		const running = experiments.filter((experiment) => isRunning(experiment, nowMs));
		const about = matching.map(({ id }) => running.find(({ segment }) => segment === id));
		if (!about.some(Boolean)) return { segments: matching, experiments: [] };
		const latestFromMs = Math.max(...about.map((experiment) => experiment?.fromMs ?? 0));
		return mapMaybePromise(this.#known(subject, nowMs, latestFromMs), (known) => {
			const segments: Segment[] = [];
			const assignments: Assignment[] = [];
			for (const [place, segment] of matching.entries()) {
				const experiment = about[place];
				const group = experiment && this.#groupOf(known, experiment);
				if (group && tellsExperiments) assignments.push({ experiment: experiment.name, group });
				if (group !== 'holdout') segments.push(segment);
			}
			return { segments, experiments: assignments };
		});
	}

	#groupOf({ accountId, participant, groups }: KnownParticipant, experiment: Experiment): ExperimentGroup {
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
	): KnownParticipant | Promise<KnownParticipant> {
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
}
