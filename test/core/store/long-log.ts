import { type LogEntry, profileOf } from '../../../src/core/domain/profile.ts';
import { insertHits } from '../../../src/core/store/account/arriving/hits.ts';
import { saveVisitors, saveVisits } from '../../../src/core/store/account/profiles/stored-profiles.ts';
import type { Steps } from '../../../src/core/store/steps.ts';
import type { OpenStore } from '../../../src/core/store/store.ts';
import { body } from './made-hits.ts';

export const longLogVid = 'a'.repeat(32);
export const longLogSid = 'b'.repeat(32);

/** The entries of a long log, up to `endMs`. Every second one belongs to the visit `longLogSid`. */
function longLog(hits: number, endMs: number) {
	const text = JSON.stringify(body());
	return Array.from({ length: hits }, (_, index) => ({
		vid: longLogVid,
		sid: index % 2 === 0 ? longLogSid : 'c'.repeat(32),
		atMs: endMs - (hits - 1 - index) * 1000,
		text,
	}));
}

/** Adds a visitor with many hits, as if they had arrived one by one. */
export async function addLongLog(
	store: OpenStore,
	accountId: number,
	hits: number,
	endMs: number,
): Promise<void> {
	const log = longLog(hits, endMs);
	const entries = log.map(
		({ sid: visit, atMs, text }): LogEntry => ({
			type: 'hit',
			atMs,
			sid: visit,
			page: 'pricing',
			channel: 'direct',
			device: 'desktop',
			events: [],
			tieBreak: text,
		}),
	);
	const of = (visit: string) =>
		profileOf(entries.filter((entry) => entry.type === 'hit' && entry.sid === visit));
	function* add(): Steps<void> {
		yield [
			insertHits(log),
			saveVisitors([[longLogVid, profileOf(entries)]]),
			saveVisits(
				[...new Set(log.map((each) => each.sid))].map((each) => [
					each,
					{ vid: longLogVid, profile: of(each) },
				]),
			),
		];
	}
	await store.transact(accountId, () => add());
}
