import type { Profile } from '../../../core/domain/profile.ts';
import { showsCustomer } from '../../../core/store/account/owners/customers.ts';
import { selectProfiles } from '../../../core/store/account/reading/visitors.ts';
import { ask, type Reading, type Row, raw, select } from '../../../core/store/steps.ts';
import type { Standing } from '../domain/standing.ts';

/** A visitor, and what webhooks know about it. */
export interface EvaluatedVisitor {
	readonly vid: string;
	/** Null if the visitor is gone. */
	readonly profile: Profile | null;
	/** Null if it was never evaluated. */
	readonly standing: Standing | null;
}

/** The visitors with hits or subscription events after a moment and up to another, and the time of the last of these. */
export function* changedSince(afterMs: number, untilMs: number): Reading<Map<string, number>> {
	const { hits, events, told } = yield* ask({
		hits: select`vid, max(at) AS at FROM @every_hit WHERE at > ${afterMs} AND at <= ${untilMs} GROUP BY vid /* changed since */`,
		events: select`vid, max(received_at) AS at FROM @subscription_event WHERE received_at > ${afterMs} AND received_at <= ${untilMs} AND vid IS NOT NULL GROUP BY vid /* changed since */`,
		// What happened long ago is new as well, when it has just arrived.
		told: select`vid, max(arrived_at) AS at FROM @subscription_event WHERE arrived_at > ${afterMs} AND arrived_at <= ${untilMs} AND vid IS NOT NULL GROUP BY vid /* changed since */`,
	});
	const changed = new Map<string, number>();
	for (const row of [...hits, ...events, ...told]) {
		const [vid, atMs] = [String(row.vid), Number(row.at)];
		changed.set(vid, Math.max(atMs, changed.get(vid) ?? Number.NEGATIVE_INFINITY));
	}
	return changed;
}

/** Visitors and what webhooks know of them. Those that are gone have no profile. */
export function* evaluatedVisitors(vids: readonly string[]): Reading<EvaluatedVisitor[]> {
	const profiles = new Map((yield* selectProfiles(vids)).map(({ vid, profile }) => [vid, profile]));
	return yield* withStandings(vids.map((vid) => ({ vid, profile: profiles.get(vid) ?? 'null' })));
}

/** A page of visitors in order of arrival, with what webhooks know of them. @returns the id of the last one; undefined at the end */
export function* evaluatedPage(
	afterId: number,
	limit: number,
): Reading<{ visitors: EvaluatedVisitor[]; lastId: number | undefined }> {
	const rows =
		yield* select`id, vid, profile FROM @visitor WHERE id > ${afterId} ORDER BY id LIMIT ${limit} /* evaluated page */`;
	const last = rows.at(-1);
	return { visitors: yield* withStandings(rows), lastId: last && Number(last.id) };
}

/** Visitors that webhooks know and who are gone, for example because their hits were too old. */
export function* evaluatedWithoutVisitor(limit: number): Reading<EvaluatedVisitor[]> {
	const rows =
		yield* select`standing.vid FROM @standing AS standing LEFT JOIN @visitor AS visitor ON visitor.vid = standing.vid WHERE visitor.vid IS NULL LIMIT ${limit} /* evaluated without visitor */`;
	return yield* withStandings(rows.map(({ vid = null }) => ({ vid, profile: 'null' })));
}

/** @param visitors with profiles as JSON */
function* withStandings(visitors: readonly Row[]): Reading<EvaluatedVisitor[]> {
	const vids = visitors.map(({ vid }) => String(vid));
	const { standings, members } = yield* ask({
		standings: select`vid, body FROM @standing WHERE vid IN ${vids} /* standings */`,
		members: select`vid, segment FROM @membership WHERE vid IN ${vids} /* memberships */`,
	});
	const bodies = new Map(standings.map(({ vid, body }) => [vid, String(body)]));
	const memberships = Map.groupBy(members, ({ vid }) => vid);
	return visitors.map(({ vid = null, profile }) => {
		const body = bodies.get(vid);
		const segments = new Set((memberships.get(vid) ?? []).map(({ segment }) => String(segment)));
		return {
			vid: String(vid),
			profile: JSON.parse(String(profile)),
			standing: body === undefined ? null : { ...toStanding(body), segments },
		};
	});
}

function toStanding(body: string): Pick<Standing, 'bands' | 'goals'> {
	const { bands, goals } = JSON.parse(body);
	return { bands: new Map(bands), goals: new Map(goals) };
}

/** The customer id that each visitor has shown last; those without one are left out. */
export function* customerIdsOf(vids: readonly string[]): Reading<Map<string, string>> {
	const rows =
		yield* select`vid, key FROM @claim AS own WHERE vid IN ${vids} AND ${raw(showsCustomer('own'))} ORDER BY at /* customer ids */`;
	return new Map(rows.map(({ vid, key }) => [String(vid), String(key).slice(2)]));
}
