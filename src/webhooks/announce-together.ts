const announceAfterMs = 100;

/**
 * Collects accounts whose visitors have changed, and announces them together after 100 ms.
 * @returns a function that adds an account
 */
export function announceTogether(announce: (accountIds: number[]) => void): (accountId: number) => void {
	const changed = new Set<number>();
	const announceAll = () => {
		const accountIds = [...changed];
		changed.clear();
		announce(accountIds);
	};
	return (accountId) => {
		if (changed.size === 0) setTimeout(announceAll, announceAfterMs).unref();
		changed.add(accountId);
	};
}
