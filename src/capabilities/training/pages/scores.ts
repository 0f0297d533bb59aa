import type { ModelScope } from '../../../core/domain/cask-scope.ts';
import { type Goal, horizonMsOf } from '../../../core/domain/goal.ts';
import { dayMs } from '../../../core/durations.ts';
import { OperatorError } from '../../../core/errors.ts';
import { decimalsOf } from '../../../core/format/currencies.ts';
import { isoTime } from '../../../core/format/iso-time.ts';
import { formatNumber } from '../../../core/format/numbers.ts';
import { actGiven, acting } from '../../../kit/console/act-form.ts';
import { redirect } from '../../../kit/console/exchange.ts';
import { aboveTables, reportSection } from '../../../kit/console/figures.ts';
import { formOf, hiddenFields, optionalField } from '../../../kit/console/form.ts';
import { gatewaysNote } from '../../../kit/console/gateways-note.ts';
import { type AccountRequest, accountPage, type PageAnswer } from '../../../kit/console/page.ts';
import { nameOf, pageTable, sortedTable, tabs, timeOf } from '../../../kit/console/page-table.ts';
import { includeOf, queryText } from '../../../kit/console/view.ts';
import { capitalised } from '../../../kit/format/capitalised.ts';
import { type Html, type HtmlValue, html } from '../../../kit/format/html.ts';
import { may } from '../../../kit/person.ts';
import { bars } from '../../../kit/reports/report-rows.ts';
import { activateModel } from '../acts.ts';
import { type ComparedModel, comparedModels, modelReport } from '../judge/model-versions.ts';
import { logEndedText } from './log-end.ts';
import { type FigureRows, figuresOf, tablesOf } from './report-figures.ts';
import { choiceSentences, headingOf, percent, verdictOf } from './report-text.ts';
import { laterFigures } from './training-page.ts';
import { isUnderWay, type Training, trainingsOf } from './trainings.ts';

const scopes = ['vid', 'sid', 'lift'] as const;

/** What visitors score for a goal, whether it came true, and the models that say so. */
export const scoresPage = accountPage({
	path: ':aid/scores',
	title: 'Scores',
	menu: 'Scores',
	place: 6,
	right: 'aggregates',
	takesView: true,
	async get(asked): Promise<PageAnswer> {
		const { account, query, request, view } = asked;
		const training = trainingsOf(asked).latest(account.aid);
		const name = query.get('goal');
		const goal = account.goals.find((one) => one.name === name) ?? account.goals[0];
		if (!goal)
			return html`<p class="empty">The account has no goal, so nothing is scored. Add one on the page <a href="/console/${account.aid}/settings?part=goals">Settings</a>, or with <code>caskade goal create ${account.aid} NAME --evt EVT</code>.</p>`;
		if (training && isUnderWay(training)) return { unfinished: progressOf(training) };
		const links = account.goals.map(
			(one) => [request.path + queryText(view, { goal: one.name }), one.name, one === goal] as const,
		);
		const isOfModel = query.get('part') === 'model';
		const part = (name: string | null, title: string) =>
			[
				request.path + queryText(view, { goal: goal.name, part: name }),
				title,
				isOfModel === (name !== null),
			] as const;
		const shown = isOfModel
			? await versions(asked, goal)
			: html`${await distribution(asked, goal)}
${await threshold(asked, goal)}
${await reportSection(asked, 'promises', { title: 'Did the predictions come true?', texts: { goal: goal.name }, empty: 'Nothing to compare yet: no score that a page has asked for is old enough.' })}`;
		return html`${tabs(links)}
${tabs([part(null, 'Who is likely'), part('model', 'The model')])}
${training && endOf(training)}
${shown}`;
	},
});

/** Where the page sends what changes models. It takes another right than to look. */
export const modelsPage = accountPage({
	path: ':aid/scores/models',
	title: 'Models',
	right: 'operate',
	demands: { train: 'session' },
	actions: {
		async train(asked) {
			const { form, account, person, note, now } = asked;
			const goal = goalOf(asked);
			const isOfAll = form.has('all');
			trainingsOf(asked).start(account.aid, isOfAll ? undefined : goal, person.email, now());
			await note('training started', isOfAll ? 'all goals' : goal);
			return toScores(account.aid, goal);
		},
		use: acting(activateModel, async (asked: AccountRequest) => {
			const { goal } = await asked.act(activateModel, actGiven(activateModel.takes, asked.form));
			return toScores(asked.account.aid, goal);
		}),
	},
});

/** The goal that a form names. */
function goalOf({ form, account }: AccountRequest): string {
	const goal = form.get('goal') ?? '';
	if (account.goals.some(({ name }) => name === goal)) return goal;
	throw new OperatorError(`The account has no goal ${goal}.`);
}

const toScores = (aid: string, goal: string) =>
	redirect(`/console/${aid}/scores?goal=${encodeURIComponent(goal)}&part=model`);

function progressOf({ startedBy, progress }: Training): Html {
	const { step, what, done, total } = progress ?? { step: 'read', what: '', done: 0, total: 1 };
	const text = step === 'read' ? 'Reading the history' : 'Training the models';
	return html`<p class="empty" role="status">${text}${what !== '' && `: ${what}`}, ${Math.floor((100 * done) / Math.max(1, total))} %. ${startedBy} has asked for it. The page appears by itself when the models are trained.</p>
<p><progress aria-label="Training" max="${Math.max(1, total)}" value="${done}"></progress></p>`;
}

function endOf({ trained = [], problem, startedAtMs, startedBy }: Training): Html {
	return html`<details class="section" open><summary>Training of ${timeOf(isoTime(startedAtMs))}, asked for by ${startedBy}</summary>
${problem && html`<p class="problem" role="status">${problem}</p>`}
${trained.map((one) => html`<p><strong>${headingOf(one.report)}.</strong> ${verdictOf(one).join(' ')}</p>`)}</details>`;
}

/** How many visitors are in a band, which leads to them. */
function visitorsOf(
	{ account, person, view }: AccountRequest,
	{ name }: Goal,
	{ band, visitors }: { readonly band: string; readonly visitors: number },
): HtmlValue {
	if (!may(person, account.aid, 'visitors')) return formatNumber(visitors);
	return html`<a href="/console/${account.aid}/visitors${queryText(undefined, { goal: name, band, include: includeOf(view) })}">${formatNumber(visitors)}</a>`;
}

async function distribution(asked: AccountRequest, goal: Goal): Promise<Html> {
	const { account, view } = asked;
	const { all, gatewayVisitors, drawn, knownToMs, bands, histogram } = await asked.computed({
		type: 'distribution',
		aid: account.aid,
		goal: goal.name,
		include: includeOf(view),
	});
	const visitors = bands.reduce((sum, band) => sum + band.visitors, 0);
	const end = (score: number) => Number((100 * score).toPrecision(2));
	const rows = histogram.map(({ from, to, visitors: number }) => ({
		score: `${end(from)} to ${end(to)} %`,
		visitors: number,
	}));
	const byBand = pageTable('Scores by band', bands, {
		Band: ({ band }) => band,
		'#Visitors': (band) => visitorsOf(asked, goal, band),
		'#Share': (band) => percent(band.visitors / visitors),
		'#Lowest score': ({ lowest }) => percent(lowest),
		'#Mean score': (band) => percent(band.predicted / band.visitors),
		'#Highest score': ({ highest }) => percent(highest),
		'#Expected to reach the goal in time': ({ predicted }) => predicted.toFixed(1),
	});
	const byScore = pageTable('Visitors by score', rows, {
		Score: ({ score }) => score,
		'#Visitors': (row) => row.visitors,
	});
	const picture = bars(rows, 'visitors', { title: `${goal.name}: visitors by their score` });
	const figures = html`${byBand}${aboveTables(picture, byScore)}`;
	return html`<section class="figure" aria-labelledby="distribution"><h2 id="distribution">Scores now</h2>
${visitors === 0 ? html`<p class="empty">Nobody can be scored for this goal yet${goal.counts === 'renewal' && ': only subscribers can renew'}.</p>` : figures}
${asked.now() - knownToMs >= dayMs && html`<p class="warning">${logEndedText(knownToMs, asked.now())}</p>`}
${drawn < all && html`<p class="warning">These figures are of a random sample: ${formatNumber(drawn)} of ${formatNumber(all)} visitors.</p>`}
${gatewaysNote(asked, gatewayVisitors)}
<footer><details><summary>What these figures are</summary><p>What pages would be told of all visitors at this moment, including those who have left: the probability of reaching the goal${goal.counts === 'renewal' ? ' with the next renewal' : ` within ${formatNumber(horizonMsOf(goal) / dayMs)} days`}. Bands rank a visitor among ${goal.counts === 'renewal' ? 'all subscribers' : 'those who came lately, so those who have left are mostly low'}. Below percentile ${goal.mediumFrom} is low, from percentile ${goal.highFrom} up is high. The number expected to reach the goal is the sum of the scores. The command is <code>caskade score ${account.aid} --goal ${goal.name}</code>.</p></details></footer></section>`;
}

/** An amount as people write it, such as 1.50, in minor units. */
function amountIn(currency: string): (text: string) => number {
	const decimals = decimalsOf(currency);
	return (text) => {
		const isAmount = /^\d{1,9}(\.\d+)?$/.test(text) && (text.split('.')[1] ?? '').length <= decimals;
		const minorUnits = Math.round(Number(text) * 10 ** decimals);
		if (!isAmount || minorUnits < 1 || minorUnits > 1e9)
			throw new OperatorError(
				`It must be an amount in ${currency}, such as ${(1.5).toFixed(decimals)}, with at most ${decimals} decimals.`,
			);
		return minorUnits;
	};
}

/** The report takes an active model. */
async function threshold(asked: AccountRequest, goal: Goal): Promise<HtmlValue> {
	const { account, query, request, view } = asked;
	if (goal.counts === 'renewal') return null;
	const amount = amountIn(account.currency);
	const cost = optionalField(query, 'treating', 'Cost', amount);
	const value = optionalField(query, 'worth', 'Value', amount);
	return html`<section class="section" aria-labelledby="pays"><h2 id="pays">When an offer pays off</h2>
<form method="get" action="${request.path}" class="view">
${hiddenFields({ ...view.texts, goal: goal.name })}
<label>Cost of the offer for each visitor, in ${account.currency} <input name="treating" inputmode="decimal" size="8" value="${query.get('treating')}" required></label>
<label>Value of a visitor who reaches the goal <input name="worth" inputmode="decimal" size="8" value="${query.get('worth')}" required></label>
<button>Show</button></form>
${cost === undefined || value === undefined ? html`<p class="hint">For example, 1 for a voucher, and 50 for what a subscription is worth.</p>` : await reportSection(asked, 'threshold', { title: 'Threshold', texts: { goal: goal.name, cost: String(cost), value: String(value) } })}</section>`;
}

async function versions(asked: AccountRequest, goal: Goal): Promise<Html> {
	const { store, account, person } = asked;
	const models = (await comparedModels(store, account.id, goal.name)).toReversed();
	const mayChange = may(person, account.aid, 'operate');
	const active = models.find((model) => model.active && model.scope === 'vid');
	return html`<section class="section" aria-labelledby="versions"><h2 id="versions">Versions</h2>
${models.length === 0 ? html`<p class="empty">No models yet, so everybody gets the base rate. Training makes them: <code>caskade train ${account.aid}</code>.</p>` : versionTable(asked, goal, models, mayChange)}
${
	mayChange &&
	html`<div class="buttons">${modelForm(asked, 'train', { goal: goal.name }, 'Train this goal now')}${modelForm(asked, 'train', { goal: goal.name, all: 'on' }, 'Train all goals now')}
${scopes.map((scope) => models.some((model) => model.active && model.scope === scope) && modelForm(asked, 'use', { goal: goal.name, scope, version: 'prior' }, scope === 'lift' ? 'Stop using the lift model' : `Stop using the model for ${scopeText(scope)}`))}</div>
<p class="hint">Training takes the whole history, as <code>caskade train ${account.aid}</code> does, and yields to requests. A model that is better than the base rate is used at once, unless a check of it fails.</p>`
}</section>
${active && (await modelSection(asked, active))}`;
}

const scopeText = (scope: ModelScope) =>
	({ vid: 'visitors', sid: 'visits', lift: 'lift of visitors' })[scope];

function versionTable(
	asked: AccountRequest,
	goal: Goal,
	models: readonly ComparedModel[],
	mayChange: boolean,
): Html {
	return sortedTable(asked, 'Versions', models, {
		Version: ({ version }) => version,
		Scores: ({ scope }) => scopeText(scope),
		Made: ({ createdAt }) => timeOf(createdAt),
		Model: ({ kind }) => (kind === 'prior' ? 'none found' : kind),
		'#Ranked rightly (AUC)': ({ auc }) => auc?.toFixed(3) ?? '-',
		'#Log loss': ({ logLoss }) => logLoss?.toFixed(4) ?? '-',
		'#Log loss of the base rate': ({ baseRateLogLoss }) => baseRateLogLoss?.toFixed(4) ?? '-',
		State: ({ active }) => active && html`<span class="good">in use</span>`,
		...(mayChange && {
			Use: ({ version, scope, kind, active }: ComparedModel) =>
				!active &&
				kind !== 'prior' &&
				modelForm(asked, 'use', { goal: goal.name, scope, version }, `Use ${version}`),
		}),
	});
}

function modelForm(
	asked: AccountRequest,
	action: string,
	fields: Readonly<Record<string, string>>,
	button: string,
): Html {
	const path = `/console/${asked.account.aid}/scores/models`;
	return formOf(asked, action, hiddenFields(fields), button, { path });
}

/** How the model in use was trained and judged. */
async function modelSection({ store, account }: AccountRequest, model: ComparedModel): Promise<Html> {
	const report = await modelReport(store, account.id, model);
	if (report.kind === 'lift') throw new Error('only models of visitors are shown');
	const heading = html`<h2 id="model">Version ${model.version}, which is in use</h2>`;
	if (report.verdict === undefined)
		return html`<section class="section" aria-labelledby="model">${heading}
<p class="empty">An earlier version of the program has made this model. Train again to see how it was judged.</p></section>`;
	const judged = pageTable('How it was judged', Object.entries(figuresOf(report)), {
		'Measure…': ([name]) => capitalised(name),
		'Value…': ([, value]) => value,
	});
	const chosen = html`<ul>${choiceSentences(report).map((sentence) => html`<li>${sentence}</li>`)}</ul>`;
	return html`<section class="section" aria-labelledby="model">${heading}
${judged}
<h3>What was chosen, and why</h3>${chosen}
${report.later && laterFigures(report.later)}
${tablesOf(report).map(({ title, rows }) => figureTable(title, rows))}</section>`;
}

function figureTable(title: string, rows: FigureRows): Html {
	const columns = Object.keys(rows[0] ?? {}).map((name) => {
		const isNumber = rows.every((row) => /^(-|-?[\d.]+( %)?)$/u.test(String(row[name])));
		const heading = isNumber ? `#${capitalised(name)}` : `${capitalised(name)}…`;
		const cellOf = (row: FigureRows[number]) => {
			const cell = row[name];
			return typeof cell === 'string' ? nameOf(cell) : cell;
		};
		return [heading, cellOf];
	});
	return pageTable(title, rows, Object.fromEntries(columns));
}
