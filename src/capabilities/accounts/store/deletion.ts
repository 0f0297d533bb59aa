import { setTimeout as delay } from 'node:timers/promises';
import type { Maintenance } from '../../../core/store/maintenance.ts';
import type { Store } from '../../../core/store/store.ts';

/**
 * How long servers may still use what is disabled or revoked: a second until they know, and two for deliveries of
 * webhooks that are under way.
 */
const settleMs = 3000;

/**
 * Disables an account, and deletes its database. Servers refuse requests for it before the database goes, so that none fails.
 * @throws OperatorError where there is none, or its database server cannot be reached
 */
export async function deleteAccountDatabase(store: Store & Maintenance, aid: string): Promise<void> {
	const { id, disabledAt } = await store.control.setAccountDisabled(aid, true);
	await letServersSettle(store, [disabledAt]);
	await store.deleteAccountDatabase(id);
}

/** A key that servers still know may not go. */
export async function letKeysSettle(store: Store): Promise<void> {
	const keys = await store.control.keys();
	await letServersSettle(
		store,
		keys.flatMap(({ revokedAt, expiresAt }) => [revokedAt, expiresAt]),
	);
}

/** @param ends when something was disabled, revoked or expires */
async function letServersSettle(store: Store, ends: readonly (string | null)[]): Promise<void> {
	const nowMs = store.now();
	const agosMs = ends.flatMap((end) => (end === null ? [] : [nowMs - Date.parse(end)]));
	const leastMs = Math.min(...agosMs.filter((agoMs) => agoMs >= 0));
	if (leastMs < settleMs && (await store.control.isServed())) await delay(settleMs - leastMs);
}
