/** What an event is to its subscription. */
export const eventKinds = ['acquisition', 'renewal', 'refund'] as const;
export type EventKind = (typeof eventKinds)[number];

/** @param isFirst whether no earlier event of its subscription was anything but a refund */
export function kindOf(revenuePence: number, isFirst: boolean): EventKind {
	if (revenuePence < 0) return 'refund';
	return isFirst ? 'acquisition' : 'renewal';
}
