import { html } from '../../../core/format/html.ts';
import { accountPage } from '../../../kit/console/page.ts';
import { reportSection } from './figures.ts';

/** Who stays: by month of the first payment, and by renewal. */
export const retentionPage = accountPage({
	path: ':aid/retention',
	title: 'Retention',
	menu: 'Retention',
	right: 'aggregates',
	takesView: true,
	get: async (
		asked,
	) => html`${await reportSection(asked, 'retention', { title: 'Retention by month of the first payment' })}
${await reportSection(asked, 'retention', { title: 'Still subscribed by channel', texts: { by: 'channel' } })}
${await reportSection(asked, 'renewals', { title: 'Renewals by channel' })}`,
});
