import type { CaskScope } from '../../../core/domain/cask-scope.ts';
import type { Goal } from '../../../core/domain/goal.ts';
import { OperatorError } from '../../../core/errors.ts';
import type { GoalModel } from '../../../core/scoring/serve/goal-model.ts';
import type { Account, StoredModel } from '../../../core/store/control/control-store.ts';
import type { Store } from '../../../core/store/store.ts';
import { command } from '../../../kit/cli/command.ts';
import { write } from '../../../kit/cli/output.ts';
import { showProgress } from '../../../kit/cli/progress.ts';
import { moment } from '../../../kit/config.ts';
import { historyReader } from '../../../kit/reading/histories.ts';
import type { GoalReport } from '../judge/account-training.ts';
import { requireGoal, usableModel } from '../judge/model-versions.ts';
import { logEndedText } from '../pages/log-end.ts';
import { ScoreWriter } from './score-lines.ts';

interface ScoreOptions {
	readonly goal?: string;
	readonly model?: string;
	readonly asOf?: number;
	readonly visitors?: string;
	readonly scope: CaskScope;
	readonly eachAtItsLastHit?: boolean;
	readonly explain?: boolean;
	readonly format: 'ndjson' | 'csv';
	readonly json?: boolean;
}

export const scoreCommand = command('score', "print every visitor's scores, now or as of a time")
	.description(
		`Print every visitor's score, percentile and band for each goal, one JSON object per line (with --json, one
array), to send to other systems or to test how well earlier scores predicted the outcomes.

With --as-of, profiles are made from the log up to that time, and nothing later is used. The model is one that was
trained as of then or earlier ('caskade train AID --as-of TIME'), unless --model names another. Percentiles are among
the visitors who had been active within the goal's horizon before that time.

With --each-at-its-last-hit, every visitor is scored as of its last hit, as a page was told; 'at' is that time.`,
	)
	.option('--goal <name>', 'only this goal (default: all)')
	.option(
		'--model <version>',
		'score with this version of the model of --goal, or prior (default: the active one)',
	)
	.option('--as-of <time>', 'the time, such as 2026-11-01 or 2026-11-01T12:00:00Z', moment)
	.option(
		'--visitors <file>',
		'only these visitors: one vid per line, or one object such as {"visitor":"c-17","vid":"…"}',
	)
	.option('--scope <scope>', 'vid: visitors; sid: the latest visit of each visitor', ['vid', 'sid'], 'vid')
	.option('--each-at-its-last-hit', 'score each visitor as of its last hit, instead of all as of one moment')
	.option('--explain', 'add reasons: what raises a high score, or lowers a low one')
	.option('--format <format>', 'what to print', ['ndjson', 'csv'], 'ndjson')
	.onAccount(score);

async function score(store: Store, account: Account, options: ScoreOptions): Promise<void> {
	const { id, aid } = account;
	const goals = await goalsToScore(store, id, options);
	const models = await modelsOf(store, id, goals, options);
	const lifts = await liftModelsOf(store, id, goals, options);
	const { scope, eachAtItsLastHit = false, explain = false } = options;
	const nowMs = options.asOf ?? store.now();
	const extra = [
		...(options.visitors === undefined ? [] : (['visitor'] as const)),
		...(scope === 'vid' ? [] : (['sid'] as const)),
		...(eachAtItsLastHit ? (['at'] as const) : []),
		...(lifts.some(Boolean) ? (['lift'] as const) : []),
		...(explain ? (['reasons'] as const) : []),
	];
	const writer = new ScoreWriter(options.json ? 'json' : options.format, extra);
	// Loaded here, since no other command should wait for it.
	const { batchScores } = await import('../serve/batch-scores.ts');
	const { endOfLog, measureBaseRates } = await import('../serve/base-rate.ts');
	const { readVisitorList } = await import('./visitor-list.ts');
	// Where people read the scores themselves, a bar would be drawn into them.
	const progress = process.stdout.isTTY ? undefined : showProgress(process.stderr, 'visitors', true);
	const counts = { wanted: 0, scored: 0 };
	try {
		const reader = historyReader(store, account);
		const knownToMs = await endOfLog(reader, nowMs);
		if (knownToMs < nowMs)
			process.stderr.write(`${logEndedText(knownToMs, nowMs)} --as-of scores as of then.\n`);
		const rates = await measureBaseRates(reader, goals, nowMs);
		const pages = batchScores(store, id, {
			goals: goals.map((goal, index) => ({
				goal,
				baseRate: rates.get(goal.name),
				model: models[index],
				lift: lifts[index],
			})),
			scope,
			eachAtItsLastHit,
			explain: explain ? account : null,
			nowMs,
			fromLog: options.asOf !== undefined,
			cadences: await reader.cadences(nowMs),
			gateways: await reader.gateways(nowMs),
			...(options.visitors !== undefined && { wanted: readVisitorList(options.visitors, counts) }),
			onProgress: (label, done, total) => progress?.update(`${label} ${aid}`, done, total),
		});
		for await (const page of pages) {
			counts.scored += page.length;
			const lines = page.flatMap(({ scores, atMs, ...who }) => {
				const at = atMs === undefined ? undefined : new Date(atMs).toISOString();
				return scores.map((each) => writer.line({ ...who, ...(at !== undefined && { at }), ...each }));
			});
			await write(lines.join(''));
		}
		await write(writer.end);
	} finally {
		progress?.end();
	}
	const unknown = counts.wanted - counts.scored;
	if (unknown > 0)
		process.stderr.write(
			`${unknown} of the ${counts.wanted} visitors in ${options.visitors} were not known then, and are left out.\n`,
		);
}

async function goalsToScore(store: Store, accountId: number, { goal, model }: ScoreOptions): Promise<Goal[]> {
	if (model !== undefined && goal === undefined)
		throw new OperatorError('--model is a version of one goal: name the goal with --goal.');
	return goal === undefined ? store.control.goals(accountId) : [await requireGoal(store, accountId, goal)];
}

/**
 * The model of each goal: the requested version, else the active one. As of a time, it is one that had seen nothing
 * later: the active one if possible, else the newest that does not wait for an operator. Without one, the base rate, and a note.
 */
async function modelsOf(
	store: Store,
	accountId: number,
	goals: readonly Goal[],
	{ model: version, asOf, scope }: ScoreOptions,
): Promise<(GoalModel | undefined)[]> {
	const stored = (await store.control.models(accountId)).filter((model) => model.scope === scope);
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
				if (await learnedOnlyUntil(store, accountId, model, asOf))
					return usableModel(store, accountId, model);
			const time = new Date(asOf).toISOString();
			process.stderr.write(
				`No model of goal ${goal} was trained as of ${time} or earlier, so it gets the base rate; 'caskade train AID --as-of ${time}' trains one.\n`,
			);
			return undefined;
		}),
	);
}

/** The active model of lift of each goal. Of single visits there is none, and as of a time it would know too much. */
async function liftModelsOf(
	store: Store,
	accountId: number,
	goals: readonly Goal[],
	{ asOf, scope }: ScoreOptions,
): Promise<(GoalModel | undefined)[]> {
	if (asOf !== undefined || scope !== 'vid') return [];
	const active = (await store.control.models(accountId)).filter((one) => one.active && one.scope === 'lift');
	return Promise.all(
		goals.map(({ name }) => {
			const model = active.find(({ goal }) => goal === name);
			return model && usableModel(store, accountId, model);
		}),
	);
}

/** Whether a model scores, does not wait for an operator, and has learned from nothing later than a moment. */
async function learnedOnlyUntil(store: Store, accountId: number, model: StoredModel, untilMs: number) {
	const report: Partial<GoalReport> = JSON.parse(await store.control.modelReport(accountId, model));
	const { kind, asOf, doubts = [] } = report;
	const waits = !model.active && doubts.length > 0;
	return kind !== 'prior' && !waits && asOf !== undefined && Date.parse(asOf) <= untilMs;
}
