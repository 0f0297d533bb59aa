import { OperatorError } from '../../../core/errors.ts';
import type { PageRequest } from '../../../kit/console/page.ts';
import type { TrainedGoal, TrainingProgress } from '../judge/account-training.ts';

/** Trains the models of an account, or of one goal, as the command `train` does, on a thread. */
export type TrainModels = (
	training: { readonly aid: string; readonly goal: string | undefined; readonly asOfMs: number },
	onProgress: (progress: TrainingProgress) => void,
) => Promise<readonly TrainedGoal[]>;

/** A training that somebody has asked for: under way, or how the latest one has ended. */
export interface Training {
	readonly startedAtMs: number;
	readonly startedBy: string;
	/** Missing until the first step. */
	progress?: TrainingProgress;
	trained?: readonly TrainedGoal[];
	/** Why nothing was trained. */
	problem?: string;
}

/** The trainings that people have asked for in this process, one of each account at a time. */
export class Trainings {
	readonly #train: TrainModels;
	readonly #onError: (error: unknown, what: string) => void;
	readonly #latest = new Map<string, Training>();

	constructor(train: TrainModels, onError: (error: unknown, what: string) => void) {
		this.#train = train;
		this.#onError = onError;
	}

	/** Undefined where none was asked for. */
	latest(aid: string): Training | undefined {
		return this.#latest.get(aid);
	}

	/** @throws OperatorError where one of the account is under way */
	start(aid: string, goal: string | undefined, startedBy: string, nowMs: number): void {
		const known = this.#latest.get(aid);
		if (known && isUnderWay(known))
			throw new OperatorError(`The models are being trained already; ${known.startedBy} has asked for it.`);
		const training: Training = { startedAtMs: nowMs, startedBy };
		this.#latest.set(aid, training);
		this.#train({ aid, goal, asOfMs: nowMs }, (progress) => {
			training.progress = progress;
		}).then(
			(trained) => {
				training.trained = trained;
			},
			(error) => {
				const isRefused = error instanceof OperatorError;
				training.problem = isRefused ? error.message : 'It has failed; the log of the server says why.';
				if (!isRefused) this.#onError(error, 'training');
			},
		);
	}
}

const ofConsoles = new WeakMap<PageRequest['store'], Trainings>();

/** Those of a console, which has its own store. As `caskade train` does, but requests come first. */
export function trainingsOf({ store, compute, onError }: PageRequest): Trainings {
	return ofConsoles.getOrInsertComputed(
		store,
		() =>
			new Trainings(
				(training, onProgress) =>
					compute(
						{ type: 'training', ...training, isOfNow: true, seed: 1, keepsChoice: false },
						{ onProgress },
					),
				onError,
			),
	);
}

export function isUnderWay({ trained, problem }: Training): boolean {
	return trained === undefined && problem === undefined;
}
