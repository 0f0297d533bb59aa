import { randomBytes } from 'node:crypto';
import { type CountedBits, distinctCount } from '../../../core/domain/distinct-count.ts';
import type { ExperimentGroup } from '../../../core/domain/experiment-group.ts';
import { OperatorError } from '../../../core/errors.ts';
import { type ControlDoors, nextSeq } from '../../../core/store/control/control-tables.ts';
import { type ExperimentRead, recordCounts } from '../../../core/store/control/request-counts.ts';
import { having, inserting, type Reading, select, sql } from '../../../core/store/steps.ts';

/** A segment that a share of visitors is held out of, to measure what serving it brings. */
export interface Experiment {
	readonly name: string;
	/** The id of the segment. */
	readonly segment: string;
	/** The rule of the segment, which cannot change while the experiment runs. */
	readonly rule: string;
	readonly goal: string;
	/** Of the visitors, in per cent. */
	readonly holdoutPercent: number;
	/** Decides who is held out. Each experiment has its own, so that experiments are independent. */
	readonly secret: string;
	/** Milliseconds since 1970; up to, not including, `toMs`. */
	readonly fromMs: number;
	/** Null: until it is stopped. */
	readonly toMs: number | null;
	readonly stoppedAtMs: number | null;
}

/** When visitors stop entering, and the segment is served to all again, in milliseconds since 1970; Infinity if that is open. */
export function endOf({ toMs, stoppedAtMs }: Pick<Experiment, 'toMs' | 'stoppedAtMs'>): number {
	return Math.min(toMs ?? Number.POSITIVE_INFINITY, stoppedAtMs ?? Number.POSITIVE_INFINITY);
}

export function isRunning(experiment: Experiment, nowMs: number): boolean {
	return experiment.fromMs <= nowMs && nowMs < endOf(experiment);
}

export function stateOf(experiment: Experiment, nowMs: number): 'planned' | 'running' | 'ended' {
	if (nowMs < experiment.fromMs) return 'planned';
	return isRunning(experiment, nowMs) ? 'running' : 'ended';
}

interface ExperimentRow {
	readonly account_id: number;
	readonly name: string;
	readonly segment: string;
	readonly rule: string;
	readonly goal: string;
	readonly holdout_percent: number;
	readonly secret: string;
	readonly from_at: number;
	readonly to_at: number | null;
	readonly stopped_at: number | null;
}

/** In order of creation: of an account, or of all. */
export const selectExperimentRows = (accountId?: number) =>
	select<ExperimentRow>`* FROM @experiment WHERE ${having({ account_id: accountId })} ORDER BY seq`;

/** That have not ended: reads keep a bit for each. */
const maxExperiments = 32;

/** Converts a row of `experiment`. */
export function toExperiment(row: ExperimentRow): Experiment {
	return {
		name: row.name,
		segment: row.segment,
		rule: row.rule,
		goal: row.goal,
		holdoutPercent: row.holdout_percent,
		secret: row.secret,
		fromMs: row.from_at,
		toMs: row.to_at,
		stoppedAtMs: row.stopped_at,
	};
}

function* selectExperiments(accountId: number): Reading<Experiment[]> {
	return (yield* selectExperimentRows(accountId)).map(toExperiment);
}

function* selectExperiment(accountId: number, name: string): Reading<Experiment> {
	const experiment = (yield* selectExperiments(accountId)).find((one) => one.name === name);
	if (!experiment)
		throw new OperatorError(
			`The account has no experiment ${name}; 'caskade experiment list AID' shows all.`,
		);
	return experiment;
}

/** @throws OperatorError where an experiment with this segment has not ended */
export function* requireNoExperiment(accountId: number, segment: string, nowMs: number): Reading<void> {
	const running = (yield* selectExperiments(accountId)).find(
		(one) => one.segment === segment && nowMs < endOf(one),
	);
	if (running)
		throw new OperatorError(
			`The experiment ${running.name} is about the segment ${segment}; 'caskade experiment stop AID ${running.name}' ends it.`,
		);
}

export function experimentStore({ read, write, change, now }: ControlDoors) {
	return {
		/** In order of creation. */
		experiments: (accountId: number) => read(selectExperiments(accountId)),

		/** @throws OperatorError where there is none */
		experiment: (accountId: number, name: string) => read(selectExperiment(accountId, name)),

		/**
		 * Adds an experiment, with a secret of its own.
		 * @throws OperatorError where its name is taken, or an experiment with the same segment has not ended
		 */
		createExperiment: (
			accountId: number,
			experiment: Omit<Experiment, 'secret' | 'stoppedAtMs'>,
		): Promise<Experiment> =>
			change(function* () {
				const { name, segment, rule, goal, holdoutPercent, fromMs, toMs } = experiment;
				yield* requireNoExperiment(accountId, segment, fromMs);
				const others = yield* selectExperiments(accountId);
				if (others.filter((one) => fromMs < endOf(one)).length >= maxExperiments)
					throw new OperatorError(
						`An account has at most ${maxExperiments} experiments at a time; stop one.`,
					);
				if (others.some((one) => one.name === name))
					throw new OperatorError(`The account has an experiment ${name} already; choose another name.`);
				const secret = randomBytes(32).toString('base64url');
				yield* sql`INSERT INTO @experiment ${inserting({
					account_id: accountId,
					name,
					segment,
					rule,
					goal,
					secret,
					holdout_percent: holdoutPercent,
					from_at: fromMs,
					to_at: toMs,
					created_at: now(),
					seq: yield* nextSeq('experiment'),
				})}`;
				return { ...experiment, secret, stoppedAtMs: null };
			}),

		/** Ends an experiment; stopping twice keeps the first time. @throws OperatorError where there is none */
		stopExperiment: (accountId: number, name: string): Promise<Experiment> =>
			change(function* () {
				yield* sql`UPDATE @experiment SET stopped_at = ${now()} WHERE account_id = ${accountId} AND name = ${name} AND stopped_at IS NULL`;
				return yield* selectExperiment(accountId, name);
			}),

		/** Counts visitors who asked for segments, where no server does. In any order, and again. */
		recordExperimentReads: (experimentReads: readonly ExperimentRead[]) =>
			write(() => recordCounts({ experimentReads })),

		/** About how many distinct visitors of each group asked for the segment. */
		async experimentReads(
			accountId: number,
			name: string,
		): Promise<Readonly<Record<ExperimentGroup, number>>> {
			const rows = await read(
				select<
					CountedBits & { held_out: number }
				>`held_out, register, rank FROM @experiment_read WHERE account_id = ${accountId} AND name = ${name}`,
			);
			const of = (heldOut: number) => distinctCount(rows.filter((row) => row.held_out === heldOut));
			return { treated: of(0), holdout: of(1) };
		},
	};
}
