import assert from 'node:assert/strict';
import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { loseTables } from './core/store/damage.ts';
import { freePort } from './free-port.ts';
import { connectTo, uploadHead } from './raw-http.ts';
import { addClient, collectLog, event, startService } from './support.ts';

const cid = 'Private-Customer-4711';

test('no log at any level, no metric and no answer contains an API key, a cid or the data folder', async (t) => {
	const metricsPort = await freePort();
	const service = await startService(t, { metricsPort, plan: { timeoutMs: 300 } });
	const limited = await addClient(service.store, {
		client: 'limited',
		plan: { ratePerSecond: 0.001, burst: 2, quotaPerMonth: 1 },
	});
	const broken = await addClient(service.store, { client: 'broken' });
	const failing = await addClient(service.store, { client: 'failing' });
	await service.server.directory.refresh();
	const { key: revoked, id } = await service.store.control.issueKey('acme', 'standard');
	await service.store.control.revokeKey(id);
	const secrets = [cid, service.folder];
	for (const { key } of [service, limited, broken, failing, { key: revoked }])
		secrets.push(key, key.slice('caskade_key_'.length, -4));

	const statuses = new Map<number, number>();
	const answers: string[] = [];
	const keep = async (answer: { status: number; headers: Headers; text(): Promise<string> | string }) => {
		statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
		const headers = [...answer.headers].map((header) => header.join(': '));
		answers.push([...headers, await answer.text()].join('\n'));
	};
	const upload = async (body: unknown, headers: Record<string, string> = {}) =>
		keep(await service.upload(body, headers));

	const sale = event({ cid, rvn: 1 });
	const good = { aid: service.aid, data: [sale] };
	const text = JSON.stringify(good);
	await upload(good);
	await upload({ ...good, simulate: true });
	// A conflict of content, which is logged; the cid is what differs.
	await upload({ ...good, data: [{ ...sale, cid: `${cid}-other` }] });
	for (const headers of [
		{ 'x-api-key': revoked },
		{ 'x-api-key': `${service.key}x` },
		{ origin: `https://${cid}` },
		{ 'content-type': `text/${cid}` },
		{ 'content-encoding': cid },
		{ cookie: cid, authorization: `Bearer ${service.key}`, 'user-agent': cid },
	])
		await upload(good, headers);
	for (const body of [
		text.slice(0, -1),
		text.replace(`"${cid}"`, cid),
		text.replace(`"${cid}"`, `"${cid}`),
		text.replace(`"${cid}"`, `"${cid}" "${cid}"`),
		`${text}${cid}`,
		cid,
		text.padEnd(300_000),
		{ ...good, data: [{ ...sale, cid: `${cid}\0` }] },
		{ ...good, data: [{ ...sale, tid: [cid], evt: { cid }, rvn: cid }] },
		{ ...good, data: cid },
		{ ...good, simulate: cid },
		{ ...good, aid: 'c-a-unknown' },
	])
		await upload(body);
	// Whoever has pasted the key into the wrong field is told so; nobody else is.
	assert.match(await (await service.upload({ ...good, aid: service.key })).text(), /caskade_key_/);
	for (let count = 0; count < 3; count++)
		await upload({ ...good, aid: limited.aid }, { 'x-api-key': limited.key });

	// A store without a file, and one that fails in the middle of a statement with a text of its own.
	const file = async (aid: string) =>
		join(service.folder, 'accounts', `${(await service.store.control.account(aid)).id}.sqlite`);
	renameSync(await file(broken.aid), `${await file(broken.aid)}.away`);
	await upload({ ...good, aid: broken.aid }, { 'x-api-key': broken.key });
	loseTables(await file(failing.aid), 'subscription_event');
	await upload({ ...good, aid: failing.aid }, { 'x-api-key': failing.key });

	for (const path of [`/${cid}`, `/subscription?cid=${cid}&x-api-key=${service.key}`, `/%zz${cid}`])
		await keep(await fetch(service.url + path));
	await keep(await fetch(`${service.url}/subscription?cid=${cid}`, { method: 'POST', body: text }));
	for (const request of [
		`${cid} HTTP/1.1\r\nx-api-key: ${service.key}\r\n\r\n`,
		uploadHead({ 'x-api-key': service.key, 'x-large': cid.repeat(1000) }),
		`${uploadHead({ 'x-api-key': service.key, 'transfer-encoding': 'chunked' })}${cid}\r\n`,
		uploadHead({ 'x-api-key': service.key, 'content-length': text.length }) + text.slice(0, -1),
	]) {
		const connection = await connectTo(t, service.url);
		connection.send(request);
		const { status, headers, body } = await connection.answer();
		await keep({ status, headers, text: () => body });
		connection.destroy();
	}
	// The test has been everywhere.
	assert.deepEqual([...statuses.keys()].sort(), [200, 201, 400, 403, 404, 405, 413, 415, 429, 431, 500, 504]);

	const metrics = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
	assert.match(metrics, /caskade_http_requests_total\{operation="uploadSubscription",status="500"\} 2/);
	await service.server.stop();
	const logs = service.logged.join('');
	for (const message of ['answered', 'refused', 'failed', 'conflict', 'store error'])
		assert.ok(logs.includes(`"msg":"${message}`), `nothing logged of '${message}'`);

	for (const [where, content] of [
		['the logs', logs],
		['the metrics', metrics],
		['the answers', answers.join('\n')],
	] as const)
		for (const secret of secrets) {
			const at = content.indexOf(secret);
			assert.equal(at, -1, `${where}: ${content.slice(Math.max(0, at - 200), at + 100)}`);
		}
});

test('a secret that is passed to the log by mistake is redacted', () => {
	const lines: string[] = [];
	const log = collectLog(lines);
	const secret = { key: cid, cask: cid, cid, body: cid, headers: { 'x-api-key': cid } };
	log.error({ ...secret, query: { cask: cid }, code: 'told' }, 'failed');
	log.debug({ request: secret, event: { cid }, code: 'told' }, 'answered');
	assert.equal(lines.length, 2);
	for (const line of lines) {
		assert.match(line, /told/);
		assert.doesNotMatch(line, new RegExp(cid));
	}
});
