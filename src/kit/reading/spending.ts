import { type Reading, type Steps, select, sql, values } from '../../core/store/steps.ts';

/** Money spent on a channel, or on one of its campaigns, on one day. */
export interface Spending {
	/** In the account's time zone, for example 2026-01-31. */
	readonly day: string;
	readonly channel: string;
	/** Empty for the channel as a whole. */
	readonly campaign: string;
	readonly pence: number;
}

/** All stored spending, by day. */
export function* spendingRows(): Reading<Spending[]> {
	const rows =
		yield* select`day, channel, campaign, pence FROM @spend ORDER BY day, channel, campaign /* spending */`;
	return rows.map(({ day, channel, campaign, pence }) => ({
		day: String(day),
		channel: String(channel),
		campaign: String(campaign),
		pence: Number(pence),
	}));
}

/** Stores spending. Replaces what is stored for the same day, channel and campaign. */
export function* saveSpending(rows: readonly Spending[]): Steps<void> {
	const saved = rows.map(({ day, channel, campaign, pence }) => [day, channel, campaign, pence]);
	yield* sql`INSERT INTO @spend (day, channel, campaign, pence) ${values(saved)} ON CONFLICT (day, channel, campaign) DO UPDATE SET pence = excluded.pence /* save spending */`;
}
