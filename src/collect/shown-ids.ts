import { type IdentitySecrets, type IdKind, type IdTrust, readShownId } from '../domain/signed-id.ts';
import type { HitRequest } from '../schema/hit-request.ts';

export interface IdRules {
	readonly idTrust: IdTrust;
	readonly identitySecrets: IdentitySecrets | null;
}

/**
 * Takes the signatures of a hit's `cid` and `tid`s away, and, where the account believes only signed ids, the ids without a right
 * one. Whoever shows such an id shows none.
 * @returns the hit itself where there is nothing to take away, and what was wrong with its ids, which names no id
 */
export function believedIds(
	hit: HitRequest,
	rules: IdRules,
	nowMs: number,
): { readonly hit: HitRequest; readonly problems: readonly string[] } {
	const problems: string[] = [];
	const believed = (shown: string, kind: IdKind, name: string): string | null => {
		const { id, signature } = readShownId(shown, kind, rules.identitySecrets, nowMs);
		if (signature === 'wrong') problems.push(`${name} must have a right signature`);
		if (rules.idTrust === 'trusted' || signature === 'right') return id;
		if (signature === 'none') problems.push(`${name} must be signed`);
		return null;
	};
	const cid = hit.cid ? believed(hit.cid, 'cid', 'cid') : null;
	let { events } = hit;
	for (const [index, event] of (events ?? []).entries()) {
		if (!event.tid) continue;
		const tid = believed(event.tid, 'tid', `events[${index}].tid`);
		if (tid !== event.tid) events = events?.with(index, { ...event, tid });
	}
	const isSame = (cid ?? '') === (hit.cid ?? '') && events === hit.events;
	return { hit: isSame ? hit : { ...hit, cid, ...(events && { events }) }, problems };
}
