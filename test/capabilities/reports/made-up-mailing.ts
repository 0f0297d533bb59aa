import { storeHistory } from '../../../src/capabilities/history/store/past-history.ts';
import type { HistoryHit } from '../../../src/core/domain/stored-hit.ts';
import { dayMs, hourMs, minuteMs } from '../../../src/core/durations.ts';
import { foldAll } from '../../../src/core/store/fold-all.ts';
import type { OpenStore } from '../../../src/core/store/store.ts';
import { body } from '../../core/store/made-hits.ts';
import { day0Ms } from './made-up.ts';

export const sentMs = day0Ms + 5 * dayMs + 9 * hourMs;
const mailing = 'https://acme.example/offer?utm_source=letter&utm_medium=email&utm_campaign=spring';
export const vidOf = (who: string, number: number) => `${who}${String(number).padStart(31, '0')}`;

/** A hit by a mailing. */
export function hit(vid: string, atMs: number, fields: Parameters<typeof body>[0] = {}): HistoryHit {
	const of = { url: mailing, channel: 'email', page: 'offer', events: [], cid: null, ...fields };
	return { vid, sid: null, atMs, body: body(of) };
}

/** 40 readers of a mailing over a day, each of whom sees two pages, and 4 of whom buy. */
export const readers = Array.from({ length: 40 }, (_, number) => {
	const [vid, atMs] = [vidOf('a', number), sentMs + number * 20 * minuteMs];
	const events = number % 10 === 0 ? [{ name: 'order', tid: `T-${number}` }] : [];
	return [hit(vid, atMs), hit(vid, atMs + minuteMs, { events, channel: 'internal', url: null })];
}).flat();
export const sales = [0, 10, 20, 30].map((number) => ({
	tid: `T-${number}`,
	subid: `S-${number}`,
	cid: null,
	evt: 'newsletter',
	rvn: 500,
	receivedAtMs: sentMs + dayMs,
}));
/** 400 visitors whom mail gateways make: they open the links of the mailing within two seconds. */
export const scanners = Array.from({ length: 400 }, (_, number) =>
	hit(vidOf('b', number), sentMs + 5000 + number * 5, { page: number % 2 ? 'offer' : 'terms' }),
);

/** All of it in an account, as if the mailing had been sent ten days ago, with somebody who came before and after it: for what looks at a real clock. */
export async function storeMailing(store: OpenStore, id: number): Promise<void> {
	const laterMs = Date.now() - 10 * dayMs - sentMs;
	const hits = [...readers, ...scanners].map((one) => ({ ...one, atMs: one.atMs + laterMs }));
	const events = sales.map((sale) => ({ ...sale, receivedAtMs: sale.receivedAtMs + laterMs }));
	const regular = [-22 * dayMs, -hourMs].map((ago) =>
		hit('f'.repeat(32), Date.now() + ago, { channel: 'direct', url: null }),
	);
	await store.transact(id, () => storeHistory([...hits, ...regular], events));
	await foldAll(store, id);
}
