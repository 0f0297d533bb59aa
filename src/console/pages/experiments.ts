import { type Experiment, endOf, stateOf } from '../../domain/experiment.ts';
import { type Html, html } from '../../format/html.ts';
import { isoTime } from '../../format/iso-time.ts';
import { reportSection } from '../figures.ts';
import { type AskedOfAccount, accountPage } from '../page.ts';
import { pageTable, timeOf } from '../page-table.ts';

/** Bounds the elements of the page. */
const maxShown = 50;

/** The account's experiments, and what serving the segment of one of them earned. */
export const experimentsPage = accountPage({
	path: ':aid/experiments',
	title: 'Experiments',
	menu: 'Experiments',
	right: 'aggregates',
	async get(asked) {
		const { store, account, query } = asked;
		const experiments = (await store.control.experiments(account.id)).toReversed();
		const chosen = experiments.find(({ name }) => name === query.get('experiment')) ?? experiments[0];
		if (!chosen)
			return html`<p class="empty">No experiments. One holds a share of the visitors out of a segment, to see what serving it brings: <code>bin/caskade experiment create ${account.aid} NAME --segment ID</code>. How long that takes, <code>bin/caskade experiment plan ${account.aid} --segment ID</code> tells.</p>`;
		return html`${await reportSection(asked, 'lift', { title: `Lift of ${chosen.name}`, texts: { experiment: chosen.name } })}
${listOf(asked, experiments, chosen)}`;
	},
});

function listOf(
	{ request, now }: AskedOfAccount,
	experiments: readonly Experiment[],
	chosen: Experiment,
): Html {
	const shown = experiments.slice(0, maxShown);
	const linkOf = (experiment: Experiment) =>
		html`<a href="${request.path}?experiment=${encodeURIComponent(experiment.name)}"${experiment === chosen && html` aria-current="true"`}>${experiment.name}</a>`;
	const table = pageTable('Experiments', shown, {
		Experiment: linkOf,
		Segment: ({ segment }) => segment,
		Goal: ({ goal }) => goal,
		'#Held out': ({ holdoutPercent }) => `${holdoutPercent} %`,
		State: (experiment) => stateOf(experiment, now()),
		From: ({ fromMs }) => timeOf(isoTime(fromMs)),
		To: (experiment) =>
			Number.isFinite(endOf(experiment)) ? timeOf(isoTime(endOf(experiment))) : 'until it is stopped',
	});
	return html`<section class="section" aria-labelledby="all"><h2 id="all">Experiments</h2>
${table}
${shown.length < experiments.length && html`<p class="note">These are the latest ${shown.length} of ${experiments.length}.</p>`}</section>`;
}
