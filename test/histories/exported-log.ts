import assert from 'node:assert/strict';
import { caskade } from '../process.ts';
import type { Log, LoggedEvent, LoggedHit } from './stored-log.ts';

/** The log of an account as `caskade export` prints it. */
export async function exportedLog(address: string, aid: string): Promise<Log> {
	const { stdout, stderr, code } = await caskade(['export', aid, '--database', address]);
	assert.equal(code, 0, stderr);
	const hits: LoggedHit[] = [];
	const events: LoggedEvent[] = [];
	for (const [place, text] of stdout.split('\n').entries()) {
		if (text === '') continue;
		const { type, at, visitor, visit, ...line } = JSON.parse(text);
		const atMs = Date.parse(at);
		if (type === 'subscription') {
			const { tid, subid, cid = null, evt, rvn } = line;
			events.push({ tid, subid, cid, evt, rvn, atMs });
			continue;
		}
		const { url = null, referrer = null, title = null, events: fired = [], cid = null, ...rest } = line;
		const page = url === null ? null : new URL(url).pathname;
		// Of one moment, hits are in the order of their visitor's profile.
		const order = String(place).padStart(9, '0');
		const body = { page, url, referrer, title, events: fired, cid, ...rest };
		hits.push({ vid: visitor, sid: visit, atMs, text: order, body });
	}
	return { hits, events, kept: { links: [], touches: [] } };
}
