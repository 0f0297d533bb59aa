import { eventKinds } from '../../../core/domain/event-kind.ts';
import { touchDimensions } from '../../../core/domain/touch.ts';
import { html } from '../../../core/format/html.ts';
import { accountPage } from '../../../kit/console/page.ts';
import { tabs } from '../../../kit/console/page-table.ts';
import { queryText } from '../../../kit/console/view.ts';
import { reportSection } from './figures.ts';

const havingNames = {
	trial: 'Trials',
	acquisition: 'New',
	renewal: 'Renewed',
	refund: 'Refunded',
	cancellation: 'Cancelled',
} as const;

/** The rows behind figures: subscriptions with an event in a period, by channel, campaign or the like. */
export const subscriptionsPage = accountPage({
	path: ':aid/subscriptions',
	title: 'Subscriptions',
	menu: 'Subscriptions',
	right: 'visitors',
	takesView: true,
	async get(asked) {
		const { query, view, request } = asked;
		const having = eventKinds.find((kind) => kind === query.get('having')) ?? null;
		const basis = query.get('basis') === 'cohort' ? 'cohort' : null;
		const tab = (kind: (typeof eventKinds)[number] | null, name: string) =>
			[request.path + queryText(view, { basis, having: kind }), name, kind === having] as const;
		const isOfTouch = touchDimensions.some((name) => view.texts[name]);
		return html`${tabs([tab(null, 'All'), ...eventKinds.map((kind) => tab(kind, havingNames[kind]))])}
${await reportSection(asked, 'subscriptions', {
	title: basis === 'cohort' ? 'Acquired in this period, with all their events' : 'With events in this period',
	texts: { basis, having, compare: null },
	isAlone: true,
})}
${isOfTouch && html`<p class="note">These have such a touch in their path. What a model credits it with is their parts: each is shared among all its touches.</p>`}`;
	},
});
