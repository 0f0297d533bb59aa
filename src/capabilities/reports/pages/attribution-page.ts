import { reportSection } from '../../../kit/console/figures.ts';
import { hiddenFields } from '../../../kit/console/form.ts';
import { accountPage } from '../../../kit/console/page.ts';
import { tabs } from '../../../kit/console/page-table.ts';
import { queryText, spanLengthOf } from '../../../kit/console/view.ts';
import { html } from '../../../kit/format/html.ts';
import { may } from '../../../kit/person.ts';
import { attributionModels, creditedTo, defaultModel } from '../../../kit/reports/attribution-model.ts';

const groupings = {
	channel: 'Channels',
	source: 'Sources',
	campaign: 'Campaigns',
	'channel,campaign': 'Campaigns by channel',
	landing: 'Landing pages',
} as const;

/** What each channel is credited with by one model, and by a second one beside it. */
export const attributionPage = creditPage('attribution', 'Attribution', 2, 'channel');
/** The page of attribution by campaign, which people look for by this name. */
export const campaignsPage = creditPage('campaigns', 'Campaigns', 2.5, 'campaign');

function creditPage(name: string, title: string, place: number, usual: keyof typeof groupings) {
	return accountPage({
		path: `:aid/${name}`,
		title,
		menu: title,
		place,
		right: 'aggregates',
		takesView: true,
		async get(asked) {
			const { query, view, request, now, account, person } = asked;
			const by = Object.keys(groupings).find((name) => name === query.get('by')) ?? usual;
			const [model = defaultModel, other] = ['model', 'with'].map((name) =>
				attributionModels.find((one) => one === query.get(name)),
			);
			const chosen = other && other !== model ? `${model},${other}` : model;
			const every = spanLengthOf(view, now());
			const links = Object.entries(groupings).map(
				([name, title]) =>
					[
						request.path + queryText(view, { by: name, model, with: other ?? null }),
						title,
						name === by,
					] as const,
			);
			const option = (name: string, text: string, isChosen: boolean) =>
				html`<option value="${name}"${isChosen && html` selected`}>${text}</option>`;
			return html`${tabs(links)}
<form class="choice" method="get" action="${request.path}">${hiddenFields({ ...view.texts, by })}
<label>Credit goes to <select name="model">${attributionModels.map((one) => option(one, creditedTo[one], one === model))}</select></label>
<label>compare with <select name="with">${option('', 'nothing', other === undefined)}${attributionModels.map((one) => option(one, creditedTo[one], one === other))}</select></label>
<button>Show</button></form>
${await reportSection(asked, 'attribution', { title: `Which ${groupings[by as keyof typeof groupings].toLowerCase()} brought subscriptions`, texts: { by, model: chosen } })}
${may(person, account.aid, 'visitors') && html`<p><a href="/console/${account.aid}/visitors${queryText(view, { period: view.period, compare: null })}">List the visitors of this period</a></p>`}
${
	by === 'channel' &&
	html`${await reportSection(asked, 'attribution', { title: `New subscriptions by ${every}`, texts: { by, every, model, compare: null }, isAnswered: false })}
${await reportSection(asked, 'coverage', { title: 'Events matched to a visitor', isDrawn: false })}
${query.has('hosts') ? await reportSection(asked, 'hosts', { title: 'Where visits begin', texts: { compare: null }, isDrawn: false }) : html`<p><a href="${request.path}${queryText(view, { hosts: '1' })}#hosts">Where visits begin, by the host of the page</a></p>`}`
}`;
		},
	});
}
