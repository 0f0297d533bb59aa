import type { Goal } from '../../core/domain/goal.ts';
import { OperatorError } from '../../core/errors.ts';
import { isoTime } from '../../core/format/iso-time.ts';
import type { ControlStore } from '../../core/store/control/control-store.ts';
import { type AnyAct, act } from '../../kit/act.ts';
import { day, plainName, positiveNumber } from '../../kit/format/values.ts';
import { listing } from '../../kit/listing.ts';
import { calendarOf } from '../../kit/reports/calendar.ts';
import { type Experiment, endOf, stateOf } from './store/experiment.ts';

const maxHoldoutPercent = 90;
const experiment = { flag: '<name>', text: 'name of the experiment', parse: plainName } as const;

export const createExperiment = act({
	noun: 'experiment',
	verb: 'create',
	demand: 'session',
	summary: 'begin an experiment',
	description: `Hold some visitors out of a segment. The segment's rule cannot change until the experiment has ended; the name of an
experiment cannot be used again.`,
	right: 'operate',
	takes: {
		experiment: {
			...experiment,
			label: 'Name',
			hint: 'Such as welcome-back. A name cannot be used again.',
		},
		segment: { flag: '--segment <id>', text: 'the segment to measure' },
		goal: {
			flag: '--goal <name>',
			text: 'the goal that visitors should reach (default: subscription, else the first)',
			isOptional: true,
		},
		holdout: {
			flag: '--holdout <percent>',
			text: 'share of visitors to hold out',
			parse: positiveNumber(maxHoldoutPercent),
			label: 'Held out, %',
			hint: 'The share of visitors from whom the segment is hidden.',
			usual: '10',
		},
		from: {
			flag: '--from <day>',
			text: "the first day, in the account's time zone (default: now)",
			label: 'First day',
			hint: "In the account's time zone. Empty: now.",
			parse: day,
			isOptional: true,
		},
		to: {
			flag: '--to <day>',
			text: 'the day after the last one (default: until it is stopped)',
			label: 'Last day',
			hint: 'Empty: until it is stopped.',
			parse: day,
			isOptional: true,
		},
	},
	async run(control, { store, account }, { experiment: name, segment, holdout, ...given }) {
		const nowMs = store.now();
		const calendar = calendarOf(account.timezone);
		const fromMs = given.from === undefined ? nowMs : calendar.startOfDay(given.from);
		const toMs = given.to === undefined ? null : calendar.startOfDay(given.to);
		if (toMs !== null && toMs <= Math.max(nowMs, fromMs))
			throw new OperatorError('--to must be later than --from, and in the future.');
		if (given.from !== undefined && fromMs < calendar.startOfDay(calendar.dayOf(nowMs)))
			throw new OperatorError('--from cannot be in the past: nobody was held out then.');
		const { rule } = await control.segment(account.id, segment);
		const { name: goal } = await chosenGoal(control, account.id, given.goal);
		const begins = { fromMs: Math.max(fromMs, nowMs), toMs };
		const planned = { name, segment, rule, goal, holdoutPercent: holdout, ...begins };
		return shownExperiment(await control.createExperiment(account.id, planned), nowMs);
	},
});

export const stopExperiment = act({
	noun: 'experiment',
	verb: 'stop',
	demand: 'session',
	summary: 'end an experiment: all visitors get the segment again',
	right: 'operate',
	takes: { experiment },
	run: async (control, { store, account }, { experiment }) =>
		shownExperiment(await control.stopExperiment(account.id, experiment), store.now()),
});

/** What the page offers beside each experiment, and until when. */
export const actsOnExperiments: readonly {
	readonly of: AnyAct;
	isOffered(experiment: Experiment, nowMs: number): boolean;
}[] = [{ of: stopExperiment, isOffered: (experiment, nowMs) => nowMs < endOf(experiment) }];

/** Without the secret. */
export function shownExperiment(experiment: Experiment, nowMs: number) {
	const { name, segment, goal, holdoutPercent, fromMs, toMs, stoppedAtMs } = experiment;
	const state = stateOf(experiment, nowMs);
	const stoppedAt = isoTime(stoppedAtMs);
	return { name, segment, goal, holdoutPercent, state, from: isoTime(fromMs), to: isoTime(toMs), stoppedAt };
}

/** The goal of this name; without one, `subscription`, else the first. @throws OperatorError where there is none */
export async function chosenGoal(
	control: Pick<ControlStore, 'goals'>,
	accountId: number,
	name: string | undefined,
): Promise<Goal> {
	const goals = await control.goals(accountId);
	const chosen = name === undefined ? usualGoal(goals) : goals.find((one) => one.name === name);
	if (!chosen)
		throw new OperatorError(`The account has no goal ${name ?? 'yet'}; 'caskade goal list AID' shows all.`);
	return chosen;
}

export function usualGoal(goals: readonly Goal[]): Goal | undefined {
	return goals.find(({ name }) => name === 'subscription') ?? goals[0];
}

export const experimentList = listing({
	noun: 'experiment',
	summary: "list an account's experiments",
	empty: ({ aid }) => `No experiments. 'caskade experiment create ${aid} NAME --segment ID' begins one.`,
	read: async ({ control, now }, { id }) =>
		(await control.experiments(id)).map((experiment) => shownExperiment(experiment, now())),
});
