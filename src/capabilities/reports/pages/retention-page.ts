import { touchDimensions } from '../../../core/domain/touch.ts';
import { reportSection } from '../../../kit/console/figures.ts';
import { type AccountRequest, accountPage } from '../../../kit/console/page.ts';
import { html } from '../../../kit/format/html.ts';
import { addMonths } from '../../../kit/reports/calendar.ts';

const leastMonths = 12;

/** Who stays: by channel first, by month of the first payment, and by renewal. */
export const retentionPage = accountPage({
	path: ':aid/retention',
	title: 'Retention',
	menu: 'Retention',
	place: 5,
	right: 'aggregates',
	takesView: true,
	async get(asked) {
		const months = ofWholeMonths(asked);
		const { from, texts } = months.view;
		const isOfTouch = touchDimensions.some((name) => texts[name]);
		return html`${isOfTouch && html`<p class="note">Only subscriptions with the chosen touch in their path are shown. They are not split by channel: that would go by their first touch, which may be another one.</p>`}
${from !== null && html`<p class="note">These are the subscriptions that began since ${from}. It takes months to see who stays, so at least ${leastMonths} whole months and this one are shown, whatever period is chosen.</p>`}
${!isOfTouch && (await reportSection(months, 'retention', { title: 'Still subscribed by channel', texts: { by: 'channel' } }))}
${await reportSection(months, 'retention', { title: 'Still subscribed by month of the first payment' })}
${await reportSection(months, 'renewals', isOfTouch ? { texts: { by: 'none' } } : { title: 'Renewals by channel' })}`;
	},
});

/** The request with a period of whole months, so that no month of acquisition is cut, and of as many as tell something. */
function ofWholeMonths(asked: AccountRequest): AccountRequest {
	const { view, calendar, now } = asked;
	if (view.from === null) return asked;
	const least = `${addMonths(calendar.monthOf(now()), -leastMonths)}-01`;
	const first = `${view.from.slice(0, 7)}-01`;
	const end = view.to && (view.to.endsWith('-01') ? view.to : `${addMonths(view.to.slice(0, 7), 1)}-01`);
	return { ...asked, view: { ...view, from: first < least ? first : least, to: end } };
}
