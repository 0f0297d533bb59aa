import type { ChannelRule } from '../domain/channel-rule.ts';
import type { HitRecord } from '../domain/stored-hit.ts';
import type { HitRequest } from '../schema/hit-request.ts';
import { arrivalOf, referrerUrl } from './channels.ts';
import { cleanUrl, pageOf, webUrl } from './page-address.ts';
import { allProven, type UnprovenIds } from './shown-ids.ts';

const maxTitleCharacters = 200;

/** Converts a hit, live or imported, to the record that is stored. */
export function toHitRecord(
	{ url, referrer, title, cid, events }: Pick<HitRequest, 'url' | 'referrer' | 'title' | 'cid' | 'events'>,
	channelRules: readonly ChannelRule[],
	device: string,
	userAgent: string | undefined,
	unproven: UnprovenIds = allProven,
): HitRecord {
	const landing = webUrl(url);
	const from = referrerUrl(referrer);
	return {
		page: pageOf(landing),
		url: cleanUrl(landing),
		referrer: cleanUrl(from),
		title: title ? title.slice(0, maxTitleCharacters) : null,
		events: (events ?? []).map(({ name, tid, rvn, currency }, index) => ({
			name,
			...(tid && { tid }),
			...(unproven.tidsOf.has(index) && { isTidUnproven: true as const }),
			...(typeof rvn === 'number' && { rvn }),
			...(currency && { currency }),
		})),
		cid: cid || null,
		...(unproven.cid && { isCidUnproven: true as const }),
		...arrivalOf({ url: landing, referrer: from, userAgent }, channelRules),
		device,
	};
}
