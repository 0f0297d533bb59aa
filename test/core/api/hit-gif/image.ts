import assert from 'node:assert/strict';
import { countVisitors } from '../../../../src/core/store/account/reading/visitors.ts';
import { browserUserAgent, type ServedAccount } from '../../../support.ts';

/** Requests the image like a page without scripts. */
export function askImage(
	{ url }: ServedAccount,
	query: string,
	headers: Record<string, string> = {},
): Promise<Response> {
	return fetch(`${url}/hit.gif?${query}`, { headers: { 'user-agent': browserUserAgent, ...headers } });
}

/** Expects the whole transparent pixel, whatever the status: browsers must be able to show it. */
export async function assertImage(answer: Response, status: number): Promise<void> {
	assert.equal(answer.status, status);
	assert.equal(answer.headers.get('content-type'), 'image/gif');
	assert.equal(answer.headers.get('cache-control'), 'no-store');
	assert.match(answer.headers.get('x-request-id') ?? '', /^[0-9a-f-]{36}$/);
	const bytes = Buffer.from(await answer.bytes());
	assert.equal(bytes.subarray(0, 6).toString('latin1'), 'GIF89a');
	// One pixel by one, and the byte that ends every GIF.
	assert.deepEqual([bytes.readUInt16LE(6), bytes.readUInt16LE(8), bytes.at(-1)], [1, 1, 0x3b]);
}

export async function visitorsOf({ store, aid }: ServedAccount): Promise<number> {
	const { id } = await store.control.account(aid);
	return store.read(id, countVisitors());
}
