/** A group of visitors, defined by a rule. */
export interface Segment {
	readonly id: string;
	readonly name: string;
	/** CEL over `visitor`, `visit`, `scores`, `percentiles` and `bands`. */
	readonly rule: string;
}

/** The segments of a new account. Existing accounts keep theirs. */
export const defaultSegments: readonly Segment[] = [
	{ id: 'new', name: 'New visitors', rule: 'visitor.visits <= 1' },
	{ id: 'returning', name: 'Returning visitors', rule: 'visitor.visits >= 2' },
	{ id: 'engaged', name: 'Engaged visitors', rule: 'visitor.pages >= 10 || visitor.activeDays >= 3' },
	{
		id: 'high-intent',
		name: 'High intent',
		rule: 'bands.subscription == "high" && visitor.subscriptions == 0',
	},
	{ id: 'subscriber', name: 'Subscribers', rule: 'visitor.activeSubscriptions > 0' },
	{
		id: 'subscribed-before',
		name: 'Subscribed before',
		rule: 'visitor.subscriptions > 0 && visitor.activeSubscriptions == 0',
	},
];
