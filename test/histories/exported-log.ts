import assert from 'node:assert/strict';
import type { Log, LoggedEvent, LoggedHit } from '../core/store/stored-log.ts';
import { caskade } from '../process.ts';

/** The log of an account as `caskade export` prints it. */
export async function exportedLog(address: string, aid: string): Promise<Log> {
	const { stdout, stderr, code } = await caskade(['export', aid, '--database', address]);
	assert.equal(code, 0, stderr);
	const hits: LoggedHit[] = [];
	const events: LoggedEvent[] = [];
	for (const printed of stdout.split('\n')) {
		if (printed === '') continue;
		const { type, at, visitor, visit, ...line } = JSON.parse(printed);
		const atMs = Date.parse(at);
		if (type === 'subscription') {
			const { tid, subid, cid = null, evt, rvn } = line;
			events.push({ tid, subid, cid, evt, rvn, atMs });
			continue;
		}
		const { url = null, referrer = null, title = null, events: fired = [], cid = null, ...rest } = line;
		const page = url === null ? null : new URL(url).pathname;
		const body = { page, url, referrer, title, events: fired, cid, ...rest };
		// As it is stored: hits of one moment are in the order of their texts, and are exported in that of their arrival.
		hits.push({ vid: visitor, sid: visit, atMs, text: JSON.stringify(body), body });
	}
	return { hits, events, kept: { links: [], touches: [], began: new Map() }, shared: new Set() };
}
