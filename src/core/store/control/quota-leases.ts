import type { QuotaHolding, QuotaSettlement } from '../../domain/quota-lease.ts';
import { maxLease } from '../../domain/quota-lease.ts';
import { ask, type Query, type Row, type Steps } from '../steps.ts';

/**
 * Settles a server's usage and leases. Leases never exceed the rest of the quota, so neither a crash nor another server
 * can exceed it. A block is a twentieth of the rest, so that a crash forfeits little of a small plan, and at most
 * `maxLease`. Settlements may be repeated or late: stale ones change nothing.
 * @param settlements each for another key or month
 * @returns what the server holds afterwards; null where its leases are no longer known
 */
export function* settleQuotas(
	serverId: string,
	settlements: readonly QuotaSettlement[],
): Steps<(QuotaHolding | null)[]> {
	const keyIds = [...new Set(settlements.map(({ keyId }) => keyId))];
	const months = [...new Set(settlements.map(({ month }) => month))];
	const leasing = settlements.filter(({ ask }) => ask.kind === 'lease');
	const { totals, leases } = yield* ask({
		opened: {
			sql: 'INSERT INTO @usage (key_id, month, leased, used) ?rows ON CONFLICT (key_id, month) DO NOTHING /* settle usage */',
			rows: leasing.map(({ keyId, month }) => [keyId, month, 0, 0]),
		},
		// All servers lock in the same order.
		totals: {
			sql: 'SELECT key_id, month, leased, used FROM @usage WHERE key_id IN ?list AND month IN ?list ORDER BY key_id, month FOR UPDATE /* settle usage */',
			values: [keyIds, months],
		},
		leases: {
			sql: 'SELECT key_id, month, seq, leased, used FROM @quota_lease WHERE server_id = ? AND key_id IN ?list AND month IN ?list /* settle usage */',
			values: [serverId, keyIds, months],
		},
	});
	const totalOf = new Map(totals.map((row) => [nameOf(row), row]));
	const leaseOf = new Map(leases.map((row) => [nameOf(row), row]));
	const settled = settlements.map((settlement) => {
		const name = `${settlement.keyId} ${settlement.month}`;
		return settle(settlement, leaseOf.get(name), totalOf.get(name));
	});
	yield [saveLeases(serverId, settled), saveTotals(settled)];
	return settled.map((outcome) => outcome && { ...outcome.lease, leasedByAll: outcome.total.leased });
}

interface SettledLease {
	readonly keyId: string;
	readonly month: string;
	readonly lease: { readonly seq: number; readonly leased: number; readonly used: number };
	readonly total: { readonly leased: number; readonly used: number };
	readonly isChanged: boolean;
}

function settle(
	{ keyId, month, seq, used, ask }: QuotaSettlement,
	leaseRow: Row | undefined,
	totalRow: Row | undefined,
): SettledLease | null {
	const isFirst = ask.kind === 'lease' && seq === 1;
	if (!totalRow || (!leaseRow && !isFirst)) return null;
	const before = {
		seq: Number(leaseRow?.seq ?? 0),
		leased: Number(leaseRow?.leased ?? 0),
		used: Number(leaseRow?.used ?? 0),
	};
	const total = { leased: Number(totalRow.leased), used: Number(totalRow.used) };
	const lease = { ...before, used: Math.max(before.used, used) };
	if (seq > before.seq) {
		if (ask.kind === 'return') lease.leased = lease.used;
		if (ask.kind === 'lease') lease.leased += blockOf(ask.quotaPerMonth - total.leased);
		// If nothing is held and nothing granted, a late repeat is harmless, and nothing is written.
		if (ask.kind === 'return' || lease.leased > lease.used) lease.seq = seq;
	}
	total.leased += lease.leased - before.leased;
	total.used += lease.used - before.used;
	const isChanged = lease.seq !== before.seq || lease.used !== before.used;
	return { keyId, month, lease, total, isChanged };
}

/** The size of the next block. */
function blockOf(left: number): number {
	return Math.min(maxLease, Math.ceil(Math.max(0, left) / 20));
}

function saveLeases(serverId: string, settled: readonly (SettledLease | null)[]): Query {
	return {
		sql: 'INSERT INTO @quota_lease (server_id, key_id, month, seq, leased, used) ?rows ON CONFLICT (server_id, key_id, month) DO UPDATE SET seq = excluded.seq, leased = excluded.leased, used = excluded.used /* settle usage */',
		rows: changed(settled).map(({ keyId, month, lease }) => [
			serverId,
			keyId,
			month,
			lease.seq,
			lease.leased,
			lease.used,
		]),
	};
}

function saveTotals(settled: readonly (SettledLease | null)[]): Query {
	return {
		sql: 'INSERT INTO @usage (key_id, month, leased, used) ?rows ON CONFLICT (key_id, month) DO UPDATE SET leased = excluded.leased, used = excluded.used /* settle usage */',
		rows: changed(settled).map(({ keyId, month, total }) => [keyId, month, total.leased, total.used]),
	};
}

function changed(settled: readonly (SettledLease | null)[]): SettledLease[] {
	return settled.filter((outcome): outcome is SettledLease => outcome?.isChanged === true);
}

function nameOf({ key_id, month }: Row): string {
	return `${key_id} ${month}`;
}
