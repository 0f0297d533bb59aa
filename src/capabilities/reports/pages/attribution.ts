import { html } from '../../../core/format/html.ts';
import { accountPage } from '../../../kit/console/page.ts';
import { tabs } from '../../../kit/console/page-table.ts';
import { queryText, spanLengthOf } from '../../../kit/console/view.ts';
import { reportSection } from './figures.ts';

const groupings = {
	channel: 'Channels',
	source: 'Sources',
	campaign: 'Campaigns',
	'channel,campaign': 'Campaigns by channel',
	landing: 'Landing pages',
} as const;

/** What each channel is credited with, by all models side by side. */
export const attributionPage = accountPage({
	path: ':aid/attribution',
	title: 'Attribution',
	menu: 'Attribution',
	right: 'aggregates',
	takesView: true,
	async get(asked) {
		const { query, view, request, now } = asked;
		const chosen = Object.keys(groupings).find((name) => name === query.get('by')) ?? 'channel';
		const every = spanLengthOf(view, now());
		const links = Object.entries(groupings).map(
			([by, title]) => [request.path + queryText(view, { by }), title, by === chosen] as const,
		);
		return html`${tabs(links)}
${await reportSection(asked, 'attribution', { title: 'Credit by each model', texts: { by: chosen, model: 'all' } })}
${chosen === 'channel' && (await reportSection(asked, 'attribution', { title: `Credited subscriptions by ${every}`, texts: { by: chosen, every, compare: null } }))}
${await reportSection(asked, 'coverage', { title: 'How events were joined to their visitors', isDrawn: false })}
${await reportSection(asked, 'hosts', { title: 'What begins on each host', texts: { compare: null }, isDrawn: false })}`;
	},
});
