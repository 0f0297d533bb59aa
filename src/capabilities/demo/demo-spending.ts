import { isoTime } from '../../core/format/iso-time.ts';
import type { DemoEntry } from './entry.ts';

/** What the shop pays for a click on an advertisement. */
const pencePerClick = 40;

interface ClickSpending {
	readonly day: string;
	readonly channel: string;
	readonly campaign: string;
	readonly pence: number;
}

/** What the shop has spent on the clicks that brought visitors, by day of UTC, besides what was spent before. */
export function demoSpending(
	entries: readonly DemoEntry[],
	before: readonly ClickSpending[],
): ClickSpending[] {
	const clicks = new Map<string, number>();
	for (const entry of entries) {
		if (entry.type !== 'hit') continue;
		const query = URL.parse(entry.fields.url)?.searchParams;
		if (query?.get('utm_medium') !== 'cpc') continue;
		const name = `${isoTime(entry.atMs).slice(0, 10)} ${query.get('utm_campaign') ?? ''}`;
		clicks.set(name, (clicks.get(name) ?? 0) + 1);
	}
	return [...clicks].map(([name, count]) => {
		const [day, campaign] = [name.slice(0, 10), name.slice(11)];
		const known = before.find((one) => one.day === day && one.campaign === campaign)?.pence ?? 0;
		return { day, campaign, channel: 'paid search', pence: known + count * pencePerClick };
	});
}
