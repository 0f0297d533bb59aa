import { once } from 'node:events';
import { InvalidArgumentError, Option } from 'commander';
import { Command, databaseOption, jsonOption, stageOption } from '../config.ts';
import type { Goal } from '../domain/goal.ts';
import { OperatorError } from '../errors.ts';
import type { GoalReport } from '../scoring/account-training.ts';
import type { GoalModel } from '../scoring/goal-model.ts';
import type { StoredModel } from '../store/control/control-store.ts';
import type { Store } from '../store/store.ts';
import { requireGoal, usableModel } from './model.ts';
import { type CommonOptions, withStore } from './output.ts';
import { showProgress } from './progress.ts';
import { csvPrinter, jsonPrinter, ndjsonPrinter } from './score-lines.ts';

interface ScoreOptions extends CommonOptions {
	readonly goal?: string;
	readonly model?: string;
	readonly asOf?: number;
	readonly visitors?: string;
	readonly format: 'ndjson' | 'csv';
}

export function scoreCommand(): Command {
	return new Command('score')
		.summary("print every visitor's scores, now or as of a time")
		.description(
			`Print every visitor's score, percentile and band for each goal, one JSON object a line (with --json, one array),
to send to other systems or to test how well earlier scores foretold what came.

With --as-of, profiles are made from the log up to that time, and nothing later is seen: the model is one that was
trained as of then or earlier ('caskade train AID --as-of TIME'), unless --model names another. Percentiles are among
all visitors of the account that were known by then.`,
		)
		.argument('<aid>', 'account token')
		.option('--goal <name>', 'only this goal; without it all')
		.option(
			'--model <version>',
			'score with this version of the model of --goal, or prior; without it the active one',
		)
		.addOption(
			new Option('--as-of <time>', 'the time, as 2026-11-01 or 2026-11-01T12:00:00Z').argParser(pastTime),
		)
		.option('--visitors <file>', 'only these: a vid a line, or a line as {"visitor":"c-17","vid":"…"}')
		.addOption(new Option('--format <format>', 'what to print').choices(['ndjson', 'csv']).default('ndjson'))
		.addOption(databaseOption())
		.addOption(stageOption())
		.addOption(jsonOption())
		.action((aid: string, options: ScoreOptions) =>
			withStore(options, (store) => score(store, aid, options)),
		);
}

async function score(store: Store, aid: string, options: ScoreOptions): Promise<void> {
	const { id } = await store.control.account(aid);
	const goals = await goalsToScore(store, id, options);
	const models = await modelsOf(store, id, goals, options);
	const printer = options.json
		? jsonPrinter()
		: options.format === 'csv'
			? csvPrinter(options.visitors !== undefined)
			: ndjsonPrinter();
	// Loaded here, since no other command should wait for it.
	const { batchScores } = await import('../scoring/batch-scores.ts');
	const { readVisitorList } = await import('./visitor-list.ts');
	// Where people read the scores themselves, a bar would be drawn into them.
	const progress = process.stdout.isTTY ? undefined : showProgress(process.stderr, 'visitors', true);
	const counts = { wanted: 0, scored: 0 };
	try {
		await store.read(id, async (reader) => {
			const pages = batchScores(reader, {
				...{ goals, models, nowMs: options.asOf ?? store.now(), fromLog: options.asOf !== undefined },
				...(options.visitors !== undefined && { wanted: readVisitorList(options.visitors, counts) }),
				onProgress: (label, done, total) => progress?.update(`${label} ${aid}`, done, total),
			});
			for await (const page of pages) {
				counts.scored += page.length;
				const lines = page.flatMap(({ scores, ...who }) =>
					scores.map((each) => printer.line({ ...who, ...each })),
				);
				await write(lines.join(''));
			}
		});
		await write(printer.end);
	} finally {
		progress?.end();
	}
	const unknown = counts.wanted - counts.scored;
	if (unknown > 0)
		process.stderr.write(
			`${unknown} of the ${counts.wanted} visitors in ${options.visitors} were not known then; they are left out.\n`,
		);
}

async function goalsToScore(store: Store, accountId: number, { goal, model }: ScoreOptions): Promise<Goal[]> {
	if (model !== undefined && goal === undefined)
		throw new OperatorError('--model is a version of one goal: name the goal with --goal.');
	if (goal !== undefined) await requireGoal(store, accountId, goal);
	const goals = await store.control.goals(accountId);
	return goals.filter(({ name }) => goal === undefined || name === goal);
}

/**
 * The model of each goal: the version that is asked for, else the active one. As of a time it is one that had seen nothing
 * later: the active one if it may be, else the newest; where there is none, the base rate, and a note.
 */
async function modelsOf(
	store: Store,
	accountId: number,
	goals: readonly Goal[],
	{ model: version, asOf }: ScoreOptions,
): Promise<(GoalModel | undefined)[]> {
	const stored = (await store.control.models(accountId)).filter(({ scope }) => scope === 'vid');
	return Promise.all(
		goals.map(async ({ name: goal }) => {
			const ofGoal = stored.filter((model) => model.goal === goal);
			if (version === 'prior') return undefined;
			if (version !== undefined) {
				const model = ofGoal.find((one) => one.version === version);
				if (model) return usableModel(store, accountId, model);
				throw new OperatorError(
					`There is no model ${version} of goal ${goal}; 'caskade model list AID' shows all.`,
				);
			}
			const active = ofGoal.filter((one) => one.active);
			if (asOf === undefined) return active[0] && usableModel(store, accountId, active[0]);
			for (const model of [...active, ...ofGoal.toReversed()])
				if (await knewOnly(store, accountId, model, asOf)) return usableModel(store, accountId, model);
			const time = new Date(asOf).toISOString();
			process.stderr.write(
				`No model of goal ${goal} was trained as of ${time} or earlier, so it gets the base rate; 'caskade train AID --as-of ${time}' trains one.\n`,
			);
			return undefined;
		}),
	);
}

/** Whether a model scores, and has learned from nothing later than a moment. */
async function knewOnly(store: Store, accountId: number, model: StoredModel, untilMs: number) {
	const { kind, asOf }: Partial<GoalReport> = JSON.parse(await store.control.modelReport(accountId, model));
	return kind !== 'prior' && asOf !== undefined && Date.parse(asOf) <= untilMs;
}

async function write(text: string): Promise<void> {
	if (text !== '' && !process.stdout.write(text)) await once(process.stdout, 'drain');
}

/** Times without a zone would be another moment on another machine. */
function pastTime(value: string): number {
	const isMoment = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?$/.test(value);
	const ms = isMoment ? Date.parse(value) : Number.NaN;
	if (Number.isNaN(ms))
		throw new InvalidArgumentError('It must be a time as 2026-11-01 or 2026-11-01T12:00:00Z.');
	if (ms > Date.now()) throw new InvalidArgumentError('It must be in the past.');
	return ms;
}
