import { isoTime } from '../../../core/format/iso-time.ts';
import { actFields, actGiven, acting, doing } from '../../../kit/console/act-form.ts';
import { reportSection } from '../../../kit/console/figures.ts';
import { formOf, hiddenFields } from '../../../kit/console/form.ts';
import { type AccountRequest, accountPage } from '../../../kit/console/page.ts';
import { sortedTable, timeOf } from '../../../kit/console/page-table.ts';
import { capitalised } from '../../../kit/format/capitalised.ts';
import { type Html, html } from '../../../kit/format/html.ts';
import { may } from '../../../kit/person.ts';
import { addDays } from '../../../kit/reports/calendar.ts';
import { actsOnExperiments, createExperiment, usualGoal } from '../acts.ts';
import { type Experiment, endOf, stateOf } from '../store/experiment.ts';

/** The account's experiments, and what serving the segment of one of them earned. */
export const experimentsPage = accountPage({
	path: ':aid/experiments',
	title: 'Experiments',
	menu: 'Experiments',
	place: 8,
	right: 'aggregates',
	async get(asked) {
		const { store, account, query } = asked;
		const experiments = (await store.control.experiments(account.id)).toReversed();
		const chosen = experiments.find(({ name }) => name === query.get('experiment')) ?? experiments[0];
		if (!chosen)
			return html`<p class="empty">No experiments. An experiment hides a segment from some visitors, to see what it earns: <code>caskade experiment create ${account.aid} NAME --segment ID</code>. <code>caskade experiment plan ${account.aid} --segment ID</code> says how long it takes.</p>
${beginning(asked)}`;
		return html`${await reportSection(asked, 'lift', { title: `Lift of ${chosen.name}`, texts: { experiment: chosen.name } })}
${listOf(asked, experiments, chosen)}
${beginning(asked)}`;
	},
	actions: {
		create: acting(createExperiment, async (asked: AccountRequest) => {
			const { to, ...given } = actGiven(createExperiment.takes, asked.form);
			await asked.act(createExperiment, { ...given, to: to && addDays(to, 1) });
		}),
		...Object.fromEntries(actsOnExperiments.map(({ of }) => [of.verb, doing(of)])),
	},
});

const mayBegin = ({ person, account }: AccountRequest) => may(person, account.aid, createExperiment.right);

function beginning(asked: AccountRequest): Html | null {
	const { segments, goals } = asked.account;
	if (!mayBegin(asked) || segments.length === 0 || goals.length === 0) return null;
	const { segment, goal, ...others } = createExperiment.takes;
	const takes = {
		segment: { ...segment, choices: segments.map(({ id }) => id) },
		goal: { ...goal, choices: goals.map(({ name }) => name) },
	};
	return html`<section class="section"><h2>Begin an experiment</h2>
<p>For a random share of the visitors, the segment is hidden from pages and webhooks. Its rule is locked until the experiment ends.</p>
${formOf(asked, 'create', actFields({ ...takes, ...others }, { goal: usualGoal(goals)?.name }), 'Begin')}</section>`;
}

function listOf(asked: AccountRequest, experiments: readonly Experiment[], chosen: Experiment): Html {
	const { request, now } = asked;
	const linkOf = (experiment: Experiment) =>
		html`<a href="${request.path}?experiment=${encodeURIComponent(experiment.name)}"${experiment === chosen && html` aria-current="true"`}>${experiment.name}</a>`;
	const table = sortedTable(asked, 'Experiments', experiments, {
		Experiment: linkOf,
		Segment: ({ segment }) => segment,
		Goal: ({ goal }) => goal,
		'#Held out': ({ holdoutPercent }) => `${holdoutPercent} %`,
		State: (experiment) => stateOf(experiment, now()),
		From: ({ fromMs }) => timeOf(isoTime(fromMs)),
		To: (experiment) =>
			Number.isFinite(endOf(experiment)) ? timeOf(isoTime(endOf(experiment))) : 'until it is stopped',
		...(mayBegin(asked) &&
			Object.fromEntries(
				actsOnExperiments.map(({ of: { verb }, isOffered }) => [
					capitalised(verb),
					(experiment: Experiment) => {
						const fields = hiddenFields({ experiment: experiment.name });
						return (
							isOffered(experiment, now()) &&
							formOf(asked, verb, fields, capitalised(verb), { look: 'danger' })
						);
					},
				]),
			)),
	});
	return html`<section class="section" aria-labelledby="all"><h2 id="all">Experiments</h2>
${table}</section>`;
}
