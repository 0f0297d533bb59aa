import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { selfSignedPair } from '../../src/core/http/self-signed.ts';
import { TestProcess } from '../process.ts';
import type { ServedAccount } from '../support.ts';
import { packInto } from './pack.ts';
import { type RoughProxy, startRoughProxy } from './rough-proxy.ts';

/** A program of a client's developer. It uploads two events at a time and prints a line for each answer. */
const program = `
import { Caskade } from 'caskade-client';
const caskade = new Caskade({ url: process.env.URL, apiKey: process.env.KEY, timeoutMs: 1000 });
const uploads = Number(process.env.UPLOADS);
let next = 0;
async function work() {
	while (next < uploads) {
		const number = next++;
		const events = [0, 1].map((place) => ({
			tid: 'order-' + number + '-' + place, subid: 'sub-' + number, evt: 'newsletter', rvn: number,
		}));
		const line = await caskade.subscriptions.upload('c-a-acme-uk', events).then(
			({ stored, duplicates, conflicts, attempts, requestId }) =>
				({ number, stored, duplicates, conflicts, attempts, requestId }),
			(error) => ({ number, error: error.name }),
		);
		console.log(JSON.stringify(line));
	}
}
await Promise.all(Array.from({ length: 32 }, work));
`;

interface Said {
	readonly number: number;
	readonly error?: string;
	readonly stored: number;
	readonly duplicates: number;
	readonly conflicts: number;
	readonly attempts: number;
	readonly requestId: string;
}

export interface StrangersResult {
	readonly acknowledged: number;
	readonly failed: number;
	/** Requests sent, including retries. */
	readonly attempts: number;
	/** Uploads whose first answer was lost, so that a later answer counts their events as duplicates. */
	readonly repeated: number;
	readonly events: number;
	readonly proxy: RoughProxy['done'];
}

/**
 * Installs the packed client in an empty project and uploads over TLS through a proxy that cuts, stalls and answers 504.
 * Checks that exactly what the client reports as stored is stored.
 */
export async function uploadAsStranger(
	t: { after(fn: () => unknown): void },
	service: ServedAccount,
	options: { folder: string; uploads: number; share: number; seed: number },
): Promise<StrangersResult> {
	const { folder, uploads, share, seed } = options;
	await packInto(folder);
	writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
	writeFileSync(join(folder, 'upload.js'), program);
	const pair = await selfSignedPair();
	writeFileSync(join(folder, 'ca.pem'), pair.cert);
	const proxy = await startRoughProxy(t, service.url, pair, { share, seed });
	await using client = new TestProcess(process.execPath, [join(folder, 'upload.js')], {
		URL: proxy.url,
		KEY: service.key,
		UPLOADS: String(uploads),
		NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem'),
	});
	const { code, stdout, stderr } = await client.ended;
	assert.equal(code, 0, stderr);
	const said = stdout
		.trimEnd()
		.split('\n')
		.map((line) => JSON.parse(line) as Said);
	assert.equal(said.length, uploads);
	const acknowledged = said.filter(({ error }) => error === undefined);

	const stored = new Map((await service.stored()).map((event) => [event.tid, event]));
	for (const { number, stored: fresh, duplicates, conflicts } of acknowledged) {
		assert.equal(fresh + duplicates, 2);
		assert.equal(conflicts, 0);
		for (const place of [0, 1]) {
			const event = stored.get(`order-${number}-${place}`);
			assert.deepEqual(
				[event?.subid, event?.rvn],
				[`sub-${number}`, number],
				`upload ${number} was acknowledged`,
			);
		}
	}
	// Each upload is stored once and completely, or not at all, whether or not the client got an answer.
	for (const { number } of said)
		assert.equal(stored.has(`order-${number}-0`), stored.has(`order-${number}-1`), `upload ${number}`);
	const numbers = new Set(said.map(({ number }) => number));
	for (const tid of stored.keys()) assert.ok(numbers.has(Number(tid.split('-')[1])), tid);
	return {
		acknowledged: acknowledged.length,
		failed: said.length - acknowledged.length,
		attempts: acknowledged.reduce((sum, { attempts }) => sum + attempts, 0),
		repeated: acknowledged.filter(({ duplicates }) => duplicates > 0).length,
		events: stored.size,
		proxy: proxy.done,
	};
}
