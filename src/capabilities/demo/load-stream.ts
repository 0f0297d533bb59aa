import { randomBytes } from 'node:crypto';
import { deviceOf } from '../../core/collect/device.ts';
import { toHitRecord } from '../../core/collect/hit-record.ts';
import type { HistoryHit } from '../../core/domain/stored-hit.ts';
import type { Account } from '../../core/store/control/control-store.ts';
import { foldAll } from '../../core/store/fold-all.ts';
import type { Store } from '../../core/store/store.ts';
import { HistoryWriter } from '../history/store/history-writer.ts';
import type { DemoEntry, DemoHit } from './entry.ts';

const entriesPerTransaction = { min: 20, initial: 100, max: 500 };

/**
 * Stores a history by the rules of live traffic, beside a running server.
 * @param isFitting whether a visitor may have a `vid`; of random ones, the first that fits is taken
 * @returns the `vid` of each visitor, by number
 */
export async function loadStream(
	store: Store,
	{ id, channelRules }: Account,
	entries: readonly DemoEntry[],
	onProgress: (done: number) => void,
	isFitting: (visitor: number, vid: string) => boolean = () => true,
): Promise<ReadonlyMap<number, string>> {
	const vids = new Map<number, string>();
	const sids = new Map<string, string>();
	const pastHit = ({ visitor, visit, atMs, userAgent, fields }: DemoHit): HistoryHit => ({
		vid: vids.getOrInsertComputed(visitor, () => fitting((vid) => isFitting(visitor, vid))),
		sid: sids.getOrInsertComputed(`${visitor} ${visit}`, newId),
		atMs,
		body: toHitRecord(
			{ ...fields, events: [...fields.events] },
			channelRules,
			deviceOf(userAgent),
			userAgent,
		),
	});
	const writer = new HistoryWriter(store, id, entriesPerTransaction);
	for (let from = 0; from < entries.length; ) {
		const batch = entries.slice(from, from + writer.size);
		const hits = batch.filter((entry) => entry.type === 'hit').map(pastHit);
		const sales = batch.filter((entry) => entry.type === 'subscription');
		const events = sales.map(({ event, atMs }) => ({ ...event, receivedAtMs: atMs }));
		await writer.add(hits, events);
		from += batch.length;
		onProgress(from);
	}
	await foldAll(store, id);
	return vids;
}

/** 128 random bits, like real ids. Not derived from the seed, because a `vid` gives access to the visitor's data. */
function newId(): string {
	return randomBytes(16).toString('hex');
}

function fitting(fits: (id: string) => boolean): string {
	for (;;) {
		const id = newId();
		if (fits(id)) return id;
	}
}
