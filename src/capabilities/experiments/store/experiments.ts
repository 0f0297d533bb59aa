import { randomBytes } from 'node:crypto';
import type { Selectable } from 'kysely';
import { distinctCount } from '../../../core/domain/distinct-count.ts';
import type { ExperimentGroup } from '../../../core/domain/experiment-group.ts';
import { OperatorError } from '../../../core/errors.ts';
import type { ExperimentRead } from '../../../core/store/control/request-counts.ts';
import { insertRows, nextSeq, selectRows, updateRows } from '../../../core/store/control/rows.ts';
import type { ControlDatabase, ControlDoors, ControlTables } from '../../../core/store/control/tables.ts';
import { type Experiment, endOf } from '../domain/experiment.ts';

declare module '../../../core/store/control/tables.ts' {
	interface ControlTables {
		experiment: {
			account_id: number;
			name: string;
			segment: string;
			rule: string;
			goal: string;
			holdout_percent: number;
			secret: string;
			from_at: number;
			to_at: number | null;
			stopped_at: number | null;
			created_at: number;
			seq: number;
		};
		experiment_read: { account_id: number; name: string; held_out: number; register: number; rank: number };
	}
}

/** That have not ended: reads keep a bit for each. */
const maxExperiments = 32;

/** Converts a row of `experiment`. */
export function toExperiment(row: Selectable<ControlTables['experiment']>): Experiment {
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

async function selectExperiments(database: ControlDatabase, accountId: number): Promise<Experiment[]> {
	return (await selectRows(database, 'experiment', { account_id: accountId }, 'seq')).map(toExperiment);
}

async function selectExperiment(
	database: ControlDatabase,
	accountId: number,
	name: string,
): Promise<Experiment> {
	const experiment = (await selectExperiments(database, accountId)).find((one) => one.name === name);
	if (!experiment)
		throw new OperatorError(
			`The account has no experiment ${name}; 'caskade experiment list AID' shows all.`,
		);
	return experiment;
}

/** @throws OperatorError where an experiment with this segment has not ended */
export async function requireNoExperiment(
	database: ControlDatabase,
	accountId: number,
	segment: string,
	nowMs: number,
): Promise<void> {
	const running = (await selectExperiments(database, accountId)).find(
		(one) => one.segment === segment && nowMs < endOf(one),
	);
	if (running)
		throw new OperatorError(
			`The experiment ${running.name} is about the segment ${segment}; 'caskade experiment stop AID ${running.name}' ends it.`,
		);
}

export function experimentStore({ database, change, now }: ControlDoors) {
	return {
		/** In order of creation. */
		experiments: (accountId: number) => selectExperiments(database, accountId),

		/** @throws OperatorError where there is none */
		experiment: (accountId: number, name: string) => selectExperiment(database, accountId, name),

		/**
		 * Adds an experiment, with a secret of its own.
		 * @throws OperatorError where its name is taken, or an experiment with the same segment has not ended
		 */
		createExperiment: (
			accountId: number,
			experiment: Omit<Experiment, 'secret' | 'stoppedAtMs'>,
		): Promise<Experiment> =>
			change(async (transaction) => {
				const { name, segment, rule, goal, holdoutPercent, fromMs, toMs } = experiment;
				await requireNoExperiment(transaction, accountId, segment, fromMs);
				const others = await selectExperiments(transaction, accountId);
				if (others.filter((one) => fromMs < endOf(one)).length >= maxExperiments)
					throw new OperatorError(
						`An account has at most ${maxExperiments} experiments at a time; stop one.`,
					);
				if (others.some((one) => one.name === name))
					throw new OperatorError(`The account has an experiment ${name} already; choose another name.`);
				const secret = randomBytes(32).toString('base64url');
				await insertRows(transaction, 'experiment', {
					account_id: accountId,
					name,
					segment,
					rule,
					goal,
					secret,
					holdout_percent: holdoutPercent,
					from_at: fromMs,
					to_at: toMs,
					stopped_at: null,
					created_at: now(),
					seq: await nextSeq(transaction, 'experiment'),
				});
				return { ...experiment, secret, stoppedAtMs: null };
			}),

		/** Ends an experiment; stopping twice keeps the first time. @throws OperatorError where there is none */
		stopExperiment: (accountId: number, name: string): Promise<Experiment> =>
			change(async (transaction) => {
				const running = { account_id: accountId, name, stopped_at: null };
				await updateRows(transaction, 'experiment', running, { stopped_at: now() });
				return selectExperiment(transaction, accountId, name);
			}),

		/** Counts visitors who asked for segments, where no server does. In any order, and again. */
		recordExperimentReads: (reads: readonly ExperimentRead[]): Promise<void> =>
			change(async (transaction) => {
				if (reads.length === 0) return;
				await transaction
					.insertInto('experiment_read')
					.values(
						reads.map(({ accountId, experiment, group, register, rank }) => ({
							account_id: accountId,
							name: experiment,
							held_out: group === 'holdout' ? 1 : 0,
							register,
							rank,
						})),
					)
					.onConflict((conflict) =>
						conflict
							.columns(['account_id', 'name', 'held_out', 'register'])
							.doUpdateSet({ rank: (row) => row.ref('excluded.rank') })
							.whereRef('excluded.rank', '>', 'experiment_read.rank'),
					)
					.execute();
			}),

		/** About how many distinct visitors of each group asked for the segment. */
		async experimentReads(
			accountId: number,
			name: string,
		): Promise<Readonly<Record<ExperimentGroup, number>>> {
			const rows = await selectRows(database, 'experiment_read', { account_id: accountId, name });
			const of = (heldOut: number) => distinctCount(rows.filter((row) => row.held_out === heldOut));
			return { treated: of(0), holdout: of(1) };
		},
	};
}
