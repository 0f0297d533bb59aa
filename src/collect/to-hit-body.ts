import type { HitBody } from '../store/visitor-log.ts';
import { type ChannelRule, channelOf } from './channels.ts';
import type { HitRequest } from './hit-body.ts';
import { cleanUrl, pageOf } from './page.ts';

const mostTitleCharacters = 200;

/** What is stored of a hit, whether it has just happened or is history. */
export function toHitBody(
	{ url, referrer, title, cid, events }: Pick<HitRequest, 'url' | 'referrer' | 'title' | 'cid' | 'events'>,
	channelRules: readonly ChannelRule[],
	device: string,
): HitBody {
	return {
		page: pageOf(url),
		url: cleanUrl(url),
		referrer: cleanUrl(referrer),
		title: title ? title.slice(0, mostTitleCharacters) : null,
		events: (events ?? []).map(({ name, tid, rvn, currency }) => ({
			name,
			...(tid && { tid }),
			...(typeof rvn === 'number' && { rvn }),
			...(currency && { currency }),
		})),
		cid: cid || null,
		channel: channelOf({ url, referrer }, channelRules),
		device,
	};
}
