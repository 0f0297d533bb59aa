import type { QuotaHolding, QuotaSettlement } from '../../domain/quota-lease.ts';
import { maxLease } from '../../domain/quota-lease.ts';
import type { Query, Row, Steps } from '../steps.ts';

/**
 * Brings what a server holds of keys' months up to date. Leases are never more than is left, so no crash and no other
 * server can exceed a quota. A block is a twentieth of what is left (so that little is forfeited in a crash of a small
 * plan), at most `maxLease`. Any of it may be repeated, and may come late: what is not news changes nothing.
 * @param settlements each of another key or month
 * @returns what the server holds then; null where nobody knows of its leases any more
 */
export function* settleQuotas(
	serverId: string,
	settlements: readonly QuotaSettlement[],
): Steps<(QuotaHolding | null)[]> {
	const keyIds = [...new Set(settlements.map(({ keyId }) => keyId))];
	const months = [...new Set(settlements.map(({ month }) => month))];
	const leasing = settlements.filter(({ ask }) => ask.kind === 'lease');
	const [, totals = [], leases = []] = yield [
		{
			sql: 'INSERT INTO @usage (key_id, month, leased, used) ?rows ON CONFLICT (key_id, month) DO NOTHING /* settle usage */',
			rows: leasing.map(({ keyId, month }) => [keyId, month, 0, 0]),
		},
		// Locked, in one order by all servers.
		{
			sql: 'SELECT key_id, month, leased, used FROM @usage WHERE key_id IN ?list AND month IN ?list ORDER BY key_id, month FOR UPDATE /* settle usage */',
			values: [keyIds, months],
		},
		{
			sql: 'SELECT key_id, month, seq, leased, used FROM @quota_lease WHERE server_id = ? AND key_id IN ?list AND month IN ?list /* settle usage */',
			values: [serverId, keyIds, months],
		},
	];
	const totalOf = new Map(totals.map((row) => [nameOf(row), row]));
	const leaseOf = new Map(leases.map((row) => [nameOf(row), row]));
	const settled = settlements.map((settlement) => {
		const name = `${settlement.keyId} ${settlement.month}`;
		return settle(settlement, leaseOf.get(name), totalOf.get(name));
	});
	yield [saveLeases(serverId, settled), saveTotals(settled)];
	return settled.map((outcome) => outcome && { ...outcome.lease, leasedByAll: outcome.total.leased });
}

interface Settled {
	readonly keyId: string;
	readonly month: string;
	readonly lease: { readonly seq: number; readonly leased: number; readonly used: number };
	readonly total: { readonly leased: number; readonly used: number };
	readonly isNews: boolean;
}

function settle(
	{ keyId, month, seq, used, ask }: QuotaSettlement,
	leaseRow: Row | undefined,
	totalRow: Row | undefined,
): Settled | null {
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
		// Where nothing is in hand and nothing is granted, what comes late could do no harm, and nothing is written.
		if (ask.kind === 'return' || lease.leased > lease.used) lease.seq = seq;
	}
	total.leased += lease.leased - before.leased;
	total.used += lease.used - before.used;
	const isNews = lease.seq !== before.seq || lease.used !== before.used;
	return { keyId, month, lease, total, isNews };
}

/** What is leased at once where so many are left. */
function blockOf(left: number): number {
	return Math.min(maxLease, Math.ceil(Math.max(0, left) / 20));
}

function saveLeases(serverId: string, settled: readonly (Settled | null)[]): Query {
	return {
		sql: 'INSERT INTO @quota_lease (server_id, key_id, month, seq, leased, used) ?rows ON CONFLICT (server_id, key_id, month) DO UPDATE SET seq = excluded.seq, leased = excluded.leased, used = excluded.used /* settle usage */',
		rows: news(settled).map(({ keyId, month, lease }) => [
			serverId,
			keyId,
			month,
			lease.seq,
			lease.leased,
			lease.used,
		]),
	};
}

function saveTotals(settled: readonly (Settled | null)[]): Query {
	return {
		sql: 'INSERT INTO @usage (key_id, month, leased, used) ?rows ON CONFLICT (key_id, month) DO UPDATE SET leased = excluded.leased, used = excluded.used /* settle usage */',
		rows: news(settled).map(({ keyId, month, total }) => [keyId, month, total.leased, total.used]),
	};
}

function news(settled: readonly (Settled | null)[]): Settled[] {
	return settled.filter((outcome): outcome is Settled => outcome?.isNews === true);
}

function nameOf({ key_id, month }: Row): string {
	return `${key_id} ${month}`;
}
