import { reportSection } from '../../../kit/console/figures.ts';
import { accountPage } from '../../../kit/console/page.ts';
import { html } from '../../../kit/format/html.ts';

/** How visitors came to subscribe, step by step, and who did not. */
export const journeysPage = accountPage({
	path: ':aid/journeys',
	title: 'Journeys',
	menu: 'Journeys',
	place: 3,
	right: 'aggregates',
	takesView: true,
	get: async (asked) => html`${await reportSection(asked, 'paths', { title: 'Paths to subscriptions' })}`,
});
