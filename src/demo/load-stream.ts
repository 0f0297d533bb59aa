import { randomBytes } from 'node:crypto';
import { deviceOf } from '../collect/device.ts';
import { toHitBody } from '../collect/to-hit-body.ts';
import type { Account } from '../store/control.ts';
import type { Steps } from '../store/steps.ts';
import type { Store } from '../store/store.ts';
import { transactAgain } from '../store/transact-again.ts';
import { type ArrivingHit, storeHistory, storeHits } from '../store/visitor-log.ts';
import type { DemoEntry, DemoHit, DemoSale } from './stream.ts';

/** Of one transaction: a tenth of a second, for which a server's own writes to the account wait. */
const entriesPerBatch = 500;

/**
 * Stores a history by the rules that live traffic has, beside a running server.
 * @returns the `vid` of each visitor, by number
 */
export async function loadStream(
	store: Store,
	{ id, channelRules }: Account,
	entries: readonly DemoEntry[],
	onProgress: (done: number) => void,
): Promise<ReadonlyMap<number, string>> {
	const vids = new Map<number, string>();
	const sids = new Map<string, string>();
	const arriving = ({ visitor, visit, atMs, userAgent, fields }: DemoHit): ArrivingHit => {
		const vid = issued(vids, visitor);
		const sid = issued(sids, `${visitor} ${visit}`);
		const body = toHitBody({ ...fields, events: [...fields.events] }, channelRules, deviceOf(userAgent));
		return { vid, sid, freshVid: vid, freshSid: sid, visitIsGiven: true, atMs, body };
	};
	for (let from = 0; from < entries.length; from += entriesPerBatch) {
		const batch = entries.slice(from, from + entriesPerBatch);
		const hits = batch.filter((entry) => entry.type === 'hit').map(arriving);
		const sales = batch.filter((entry) => entry.type === 'subscription');
		await transactAgain(store, id, () => storeBatch(hits, sales));
		onProgress(from + batch.length);
	}
	return vids;
}

function* storeBatch(hits: readonly ArrivingHit[], sales: readonly DemoSale[]): Steps<void> {
	if (hits.length > 0) yield* storeHits(hits);
	if (sales.length > 0)
		yield* storeHistory(sales.map(({ event, atMs }) => ({ ...event, receivedAtMs: atMs })));
}

/** 128 random bits, as the collection host issues them; not of the seed, since whoever knows a `vid` gets its data. */
function issued<Name>(ids: Map<Name, string>, name: Name): string {
	const known = ids.get(name);
	if (known !== undefined) return known;
	const id = randomBytes(16).toString('hex');
	ids.set(name, id);
	return id;
}
