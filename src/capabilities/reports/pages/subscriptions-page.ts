import { type EventKind, eventKinds } from '../../../core/domain/event-kind.ts';
import { touchDimensions } from '../../../core/domain/touch.ts';
import { reportSection } from '../../../kit/console/figures.ts';
import { accountPage } from '../../../kit/console/page.ts';
import { tabs } from '../../../kit/console/page-table.ts';
import { queryText } from '../../../kit/console/view.ts';
import { html } from '../../../kit/format/html.ts';

const havingNames = {
	trial: 'Trials',
	acquisition: 'New',
	renewal: 'Renewed',
	refund: 'Refunded',
	cancellation: 'Gave notice',
} as const;
/** As Revenue counts them, when they end. */
const endedNames = { cancelled: 'Cancelled', lapsed: 'Lapsed' } as const;

const movedTitles: Readonly<Record<string, string>> = {
	new: 'Subscriptions that began in this period',
	reactivated: 'Subscriptions that came back in this period',
	expansion: 'Subscriptions that began to pay more in this period',
	contraction: 'Subscriptions that began to pay less in this period',
	ended: 'Subscriptions that ended in this period',
	cancelled: 'Subscriptions that ended in this period, cancelled or paid back',
	lapsed: 'Subscriptions that ended in this period, as nobody paid in time',
	'at-risk': 'Subscriptions at risk: due, not renewed, and not lost yet',
};

function titleOf(moved: string | null, basis: string | null): string {
	if (moved !== null) return movedTitles[moved] ?? 'Subscriptions that changed in this period';
	return basis === 'cohort'
		? 'Subscriptions that began in this period, with all their events'
		: 'Subscriptions with events in this period';
}

/** The rows behind figures: subscriptions with an event in a period, by channel, campaign or the like. */
export const subscriptionsPage = accountPage({
	path: ':aid/subscriptions',
	title: 'Subscriptions',
	menu: 'Subscriptions',
	place: 10,
	right: 'visitors',
	takesView: true,
	async get(asked) {
		const { query, view, request, account } = asked;
		const having = eventKinds.find((kind) => kind === query.get('having')) ?? null;
		const [credited, moved] = [query.get('credited'), query.get('moved')];
		const basis = query.get('basis') === 'cohort' ? 'cohort' : null;
		const tab = (name: string, chosen: { having?: EventKind; moved?: keyof typeof endedNames }) => {
			const isChosen = having === (chosen.having ?? null) && moved === (chosen.moved ?? null);
			return [request.path + queryText(view, { basis, ...chosen }), name, isChosen] as const;
		};
		// Without a name for it, nobody gives notice.
		const kinds = eventKinds.filter((kind) => kind !== 'cancellation' || account.cancellationEvt !== null);
		const isOfTouch = touchDimensions.some((name) => view.texts[name]);
		return html`${tabs([
			tab('All', {}),
			...kinds.map((kind) => tab(havingNames[kind], { having: kind })),
			tab(endedNames.cancelled, { moved: 'cancelled' }),
			tab(endedNames.lapsed, { moved: 'lapsed' }),
		])}
${await reportSection(asked, 'subscriptions', {
	title: titleOf(moved, basis),
	texts: { basis, having, credited, moved, compare: null },
	isAlone: true,
})}
${isOfTouch && html`<p class="note">${credited === null ? 'These subscriptions have the chosen touch in their path. A model may credit it with only a part of a subscription.' : '“Credited touch” is the one that the model credits, which need not be the last.'}</p>`}`;
	},
});
