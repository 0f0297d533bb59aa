import { reportSection } from '../../../kit/console/figures.ts';
import { accountPage } from '../../../kit/console/page.ts';
import { queryText, spanLengthOf } from '../../../kit/console/view.ts';
import { html } from '../../../kit/format/html.ts';
import { may } from '../../../kit/person.ts';
import { curves } from '../../../kit/reports/report-curves.ts';

const paid = [
	['renewals', 'renewalPence'],
	['refunds', 'refundPence'],
	['first payments', 'acquisitionPence'],
] as const;

/** What subscriptions bring, how recurring revenue moves, and what a subscription is worth over its life. */
export const revenuePage = accountPage({
	path: ':aid/revenue',
	title: 'Revenue',
	menu: 'Revenue',
	place: 4,
	right: 'aggregates',
	takesView: true,
	async get(asked) {
		const every = spanLengthOf(asked.view, asked.now());
		const span = every === 'day' ? 'week' : every;
		const { account, person, view } = asked;
		const atRisk = `/console/${account.aid}/subscriptions${queryText(view, { from: null, to: null, period: 'all', compare: null, moved: 'at-risk' })}`;
		return html`${await reportSection(asked, 'movement', { title: 'How recurring revenue changed', texts: { every: span } })}
${may(person, account.aid, 'visitors') && html`<p><a href="${atRisk}">Subscriptions with a late payment now</a></p>`}
${await reportSection(asked, 'activity', {
	title: 'Payments received',
	texts: { every },
	draw: (_, rows, money, notes) =>
		curves(
			paid.map(([name, column]) => ({
				name,
				points: rows.map((row) => ({
					x: String(row[every]),
					y: Number(row[column]),
					part: typeof row.part === 'string' ? row.part : null,
				})),
			})),
			{
				title: `First payments, renewals and refunds by ${every}`,
				isStacked: true,
				money,
				noted: { notes, every },
			},
		),
})}
${await reportSection(asked, 'ltv', { title: 'Lifetime value by month of the first payment', texts: { by: 'none', months: '6' } })}
${await reportSection(asked, 'spend', {
	title: 'Marketing cost and payback',
	empty: html`No spending is known in this period. Import a CSV with <code>day,channel,pence</code>: <code>caskade spend import ${asked.account.aid} FILE</code>.`,
})}`;
	},
});
