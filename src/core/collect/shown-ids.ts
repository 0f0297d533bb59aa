import { type IdentitySecrets, type IdKind, type IdTrust, readShownId } from '../domain/signed-id.ts';
import type { HitRequest } from '../schema/hit-request.ts';

export interface IdRules {
	readonly idTrust: IdTrust;
	readonly identitySecrets: IdentitySecrets | null;
}

/** Which ids of a hit nothing proves. */
export interface UnprovenIds {
	readonly cid: boolean;
	/** The places of the events whose `tid` it is. */
	readonly tidsOf: ReadonlySet<number>;
}

/** Ids that are believed as they are, as those of imports. */
export const allProven: UnprovenIds = { cid: false, tidsOf: new Set() };

/**
 * Takes the signatures of a hit's `cid` and `tid`s away, and, where the account believes only signed ids, the ids without a right
 * one. Whoever shows such an id shows none.
 * @returns the hit itself where there is nothing to take away, and what was wrong with its ids, which names no id
 */
export function believedIds(
	hit: HitRequest,
	rules: IdRules,
	nowMs: number,
): { readonly hit: HitRequest; readonly unproven: UnprovenIds; readonly problems: readonly string[] } {
	const problems: string[] = [];
	const believed = (shown: string, kind: IdKind, name: string) => {
		const { id, signature } = readShownId(shown, kind, rules.identitySecrets, nowMs);
		if (signature === 'wrong') problems.push(`${name} must have a right signature`);
		if (rules.idTrust === 'trusted' || signature === 'right') return { id, isProven: true };
		if (rules.idTrust === 'claimed') return { id, isProven: false };
		if (signature === 'none') problems.push(`${name} must be signed`);
		return { id: null, isProven: true };
	};
	const cid = hit.cid ? believed(hit.cid, 'cid', 'cid') : undefined;
	let { events } = hit;
	let tidsOf: Set<number> | undefined;
	for (const [index, event] of (events ?? []).entries()) {
		if (!event.tid) continue;
		const { id, isProven } = believed(event.tid, 'tid', `events[${index}].tid`);
		if (!isProven) tidsOf = (tidsOf ?? new Set()).add(index);
		if (id !== event.tid) events = events?.with(index, { ...event, tid: id });
	}
	const isSame = (cid?.id ?? '') === (hit.cid ?? '') && events === hit.events;
	const isCidProven = cid?.isProven ?? true;
	return {
		hit: isSame ? hit : { ...hit, cid: cid?.id ?? null, ...(events && { events }) },
		unproven: isCidProven && !tidsOf ? allProven : { cid: !isCidProven, tidsOf: tidsOf ?? allProven.tidsOf },
		problems,
	};
}
