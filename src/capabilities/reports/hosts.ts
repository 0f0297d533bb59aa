import { isMissingKey } from '../../core/domain/missing-key.ts';
import { hostOf } from '../../core/domain/touch.ts';
import { counted } from '../../core/format/numbers.ts';
import { eachVisitorsHits, ownersOfTids, type VisitorsHit } from '../../kit/reading/hits-by-visitor.ts';
import { isIn, type Period } from '../../kit/reports/journey.ts';
import { quotedName } from '../../kit/reports/label.ts';
import { headed, reportThat } from '../../kit/reports/report.ts';
import { bars } from '../../kit/reports/report-rows.ts';

/** What began on the pages of a host, and what of it came as somebody new from another host of the account. */
interface HostRow {
	visitors: number;
	visits: number;
	visitorsFromOwnHosts: number;
	sales: number;
	joinedSales: number;
	salesFromOwnHosts: number;
}

/** Where a visitor's first page was, and the host that led there. */
interface Arrival {
	readonly host: string;
	readonly from: string;
	readonly isCounted: boolean;
}

class HostCounts {
	readonly #rows = new Map<string, HostRow>();
	/** Visitors who came from another host, which may be the account's, too. */
	readonly #arrivals = new Map<string, Arrival>();
	/** The host whose page showed a `tid` first, in the period. */
	readonly #shown = new Map<string, { readonly host: string; readonly atMs: number }>();
	readonly #period: Period;

	constructor(period: Period) {
		this.#period = period;
	}

	/** The `tid`s that pages have shown. */
	get tids(): string[] {
		return [...this.#shown.keys()];
	}

	/** @param isCounted whether the visitor is no mail gateway */
	add(vid: string, hits: readonly VisitorsHit[], isCounted: boolean): void {
		const visits = new Set<string>();
		for (const [place, { sid, atMs, body }] of hits.entries()) {
			const isFirstOfVisit = !visits.has(sid);
			visits.add(sid);
			const host = hostOf(body.url);
			if (host === null) continue;
			const row = this.#rowOf(host);
			const isCountedNow = isCounted && isIn(this.#period, atMs);
			if (isCountedNow && isFirstOfVisit) row.visits++;
			if (place === 0) {
				if (isCountedNow) row.visitors++;
				const from = hostOf(body.referrer);
				if (from !== null && from !== host) this.#arrivals.set(vid, { host, from, isCounted: isCountedNow });
			}
			if (!isIn(this.#period, atMs)) continue;
			for (const { tid } of body.events)
				if (tid !== undefined && !isMissingKey(tid) && !((this.#shown.get(tid)?.atMs ?? Infinity) <= atMs))
					this.#shown.set(tid, { host, atMs });
		}
	}

	/** @param owners the visitors of the sales that were uploaded, by `tid` */
	rows(owners: ReadonlyMap<string, string | null>): ({ readonly host: string } & HostRow)[] {
		// Only now all hosts of the account are known.
		const lost = (vid: string | null) => {
			const arrival = vid === null ? undefined : this.#arrivals.get(vid);
			return arrival && this.#rows.has(arrival.from) ? arrival : undefined;
		};
		for (const vid of this.#arrivals.keys()) {
			const arrival = lost(vid);
			if (arrival?.isCounted) this.#rowOf(arrival.host).visitorsFromOwnHosts++;
		}
		for (const [tid, { host }] of this.#shown) {
			const owner = owners.get(tid);
			if (owner === undefined) continue;
			const row = this.#rowOf(host);
			row.sales++;
			if (owner !== null) row.joinedSales++;
			if (lost(owner)) row.salesFromOwnHosts++;
		}
		return [...this.#rows]
			.filter(([, row]) => row.visits + row.sales > 0)
			.map(([host, row]) => ({ host: quotedName(host), ...row }))
			.sort((a, b) => b.visits - a.visits || (a.host < b.host ? -1 : 1));
	}

	#rowOf(host: string): HostRow {
		return this.#rows.getOrInsertComputed(host, () => ({
			visitors: 0,
			visits: 0,
			visitorsFromOwnHosts: 0,
			sales: 0,
			joinedSales: 0,
			salesFromOwnHosts: 0,
		}));
	}
}

/** A sentence on visitors who are lost between hosts. */
function lostBetween(rows: readonly HostRow[]): string[] {
	const lost = rows.reduce((sum, row) => sum + row.visitorsFromOwnHosts, 0);
	if (lost === 0) return [];
	return [
		`${counted(lost, 'visitor')} came from one host of the account to another as somebody new, so what led to the first host is not known of them. Hosts of one site share a cookie; other hosts can show the same cid.`,
	];
}

export const hostsReport = reportThat({
	kind: 'hosts',
	title: 'Hosts',
	summary: 'what begins on each host, and who is lost between hosts',
	definition:
		'By host of the page, without `www.`, in the period: `visitors` saw their first page on the host, and `visits` began there. `sales` are uploaded sales whose `tid` was first shown on the host; `joinedSales` of these belong to a visitor. `visitorsFromOwnHosts` came to their first page from another host of the account: there, the same browser is another visitor. `salesFromOwnHosts` are their sales: what led to the first host gets no credit for them.',
	parameters: ['from', 'to', 'asOf', 'timezone', 'compare', 'include'],
	initial: { by: [] },
	async make({ period, asOfMs, read, gateways: findGateways }) {
		const gateways = await findGateways();
		const rows = await read(function* (options) {
			const counts = new HostCounts(period);
			yield* eachVisitorsHits(asOfMs, (vid, hits) => counts.add(vid, hits, !gateways.has(vid)));
			return counts.rows(yield* ownersOfTids(counts.tids, options));
		});
		return { rows, warnings: lostBetween(rows) };
	},
	columns: {
		...headed({ visitorsFromOwnHosts: 'came from another own host', joinedSales: 'matched sales' }),
		salesFromOwnHosts: { heading: 'sales of those' },
	},
	answer({ rows: [most, ...others] }) {
		if (!most) return null;
		const lost = [most, ...others].reduce((sum, row) => sum + row.visitorsFromOwnHosts, 0);
		const begun = `${counted(most.visits, 'visit')} began on ${others.length > 0 ? `${most.host}, more than on any other host` : most.host}`;
		return `${begun}. ${lost === 0 ? 'No visitor seems to be lost between hosts' : `${counted(lost, 'visitor is', 'visitors are')} lost between hosts`}.`;
	},
	draw: (_, table) =>
		bars(table, 'visitorsFromOwnHosts', { title: 'New visitors who came from another host of the account' }),
});
