import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { readdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openStore } from '../src/assembly/open-store.ts';
import { issueCask } from '../src/core/access/cask.ts';
import { loseTables } from './core/store/damage.ts';
import { freePort } from './free-port.ts';
import { connectTo, type RawAnswer } from './raw-http.ts';
import { addClient, browserUserAgent, serveAt, temporaryFolder } from './support.ts';

const cid = 'Private-Customer-4711';
const email = 'private.person@customer.example';
const addresses = ['203.0.113.77', '2001:db8:7777::4711'];
const nobody = '0123456789abcdef0123456789abcdef';
const paths = ['/visscores', '/visscores/segments', '/segments'];
const casksOf = /eyJ[\w-]+\.[\w-]+\.[\w-]+/;
const statements = /\b(SELECT|INSERT|UPDATE|DELETE|PRAGMA|SAVEPOINT|BEGIN) \w/;

test('hits and reads: no log, metric or answer contains a cask, a cid, a key, an address or a path; no address is stored', async (t) => {
	const folder = temporaryFolder(t);
	const store = await openStore(`sqlite:${folder}`);
	const { aid, key } = await addClient(store);
	const closed = await addClient(store, { client: 'closed' });
	await store.control.updateAccount(closed.aid, { origins: ['https://closed.example'] });
	const broken = await addClient(store, { client: 'broken' });
	const failing = await addClient(store, { client: 'failing' });
	const logged: string[] = [];
	const metricsPort = await freePort();
	const server = await serveAt(
		`sqlite:${folder}`,
		{ metricsPort, behindProxy: 1, hitsPerAddress: 20, hitsPerVisitor: 0.5 },
		logged,
	);
	t.after(async () => {
		await server.stop();
		await store.close();
	});
	const { url } = server;

	const statuses = new Set<string>();
	const answers: string[] = [];
	const keep = async (what: string, answer: RawAnswer) => {
		statuses.add(`${what} ${answer.status}`);
		// To give casks is what a hit is for.
		const given = what === 'hit' && answer.status === 200;
		answers.push([...answer.headers].map((header) => header.join(': ')).join('\n'));
		answers.push(given ? answer.body.replace(casksOf, '') : answer.body);
		return answer.body;
	};
	const ask = async (path: string, { headers, ...init }: RequestInit = {}) => {
		const from = { 'x-forwarded-for': addresses.join(', '), forwarded: `for=${addresses[0]}` };
		const { status, ...answer } = await fetch(url + path, {
			...init,
			headers: { 'user-agent': browserUserAgent, 'x-real-ip': String(addresses[0]), ...from, ...headers },
		}).then(async (got) => ({ status: got.status, headers: got.headers, body: await got.text() }));
		return keep(path.split(/[?]/)[0]?.slice(1) as string, { status, ...answer });
	};
	const page = `https://shop.example/account?email=${email}&utm_source=news#${email}`;
	const fire = (fields: unknown = {}, headers: Record<string, string> = {}, query = '') =>
		ask(`/hit${query}`, {
			method: 'POST',
			headers: { 'content-type': 'text/plain', ...headers },
			body:
				typeof fields === 'string'
					? fields
					: JSON.stringify({ aid, cid, url: page, referrer: page, ...(fields as object) }),
		});

	const given = JSON.parse(await fire({ events: [{ name: 'checkout', tid: 'order-1' }] }));
	const ofVisit = JSON.parse(await fire({ vid: given.vid }, {}, '?scope=sid&include=scores,segments'));
	const secrets = [given.cask, ofVisit.cask];

	// Accounts whose file is missing, and whose statements fail with a text of their own.
	const file = async (of: string) =>
		join(folder, 'accounts', `${(await store.control.account(of)).id}.sqlite`);
	renameSync(await file(broken.aid), `${await file(broken.aid)}.away`);
	loseTables(await file(failing.aid), 'visitor', 'visit', 'hit');
	const casksFor = (of: string) =>
		(['vid', 'sid'] as const).map(
			(scope) =>
				issueCask(server.directory.signingKeys, { aid: of, scope, subject: nobody }, Date.now()).cask,
		);
	const withoutStore = [...casksFor(broken.aid), ...casksFor(failing.aid)];
	const closedCasks = casksFor(closed.aid);
	secrets.push(...withoutStore, ...closedCasks);

	for (const headers of [
		{ 'user-agent': `Googlebot ${cid}` },
		{ cookie: `cid=${cid}`, authorization: `Bearer ${given.cask}`, 'x-api-key': key },
		{ 'content-type': `text/${cid}` },
		{ 'content-encoding': cid },
	] as Record<string, string>[])
		await fire({}, headers);
	for (const body of [
		`{"aid":"${aid}","cid":"${cid}`,
		`{"aid":"${aid}","cid":${cid}}`,
		`{"aid":"${aid}"} ${cid}`,
		' '.repeat(16_385),
		{ cid: [cid], vid: [given.cask], url: 1, title: { cid }, events: cid },
		{ cid: `${cid}\0`, events: [{ name: [cid], tid: { cid }, rvn: cid, currency: cid }] },
		{ aid: 'c-a-unknown' },
		{ aid: broken.aid },
		{ aid: failing.aid },
		{ vid: given.cask, sid: given.cask },
	])
		await fire(body);
	await fire({ aid: closed.aid }, { origin: `https://${cid}.example` });
	for (let count = 0; count < 6; count++) await fire({ vid: given.vid });
	await ask(`/hit?cask=${given.cask}&cid=${cid}`, { method: 'PUT', body: cid });

	for (const query of [
		`aid=${aid}&event=seen&event=bought`,
		`aid=${aid}&aid=${aid}`,
		`aid=${aid}&event=${'x'.repeat(300)}`,
		`aid=${broken.aid}`,
		`aid=${failing.aid}`,
		...Array.from({ length: 6 }, () => `aid=${aid}&vid=${given.vid}`),
	])
		await ask(`/hit.gif?${query}&cid=${cid}&cask=${given.cask}`, { headers: { referer: page } });
	await ask(`/hit.gif?aid=${closed.aid}&cid=${cid}`, { headers: { origin: `https://${cid}.example` } });

	for (const path of paths) {
		for (const cask of [given.cask, ofVisit.cask]) await ask(`${path}?cask=${cask}&explain=1&cid=${cid}`);
		for (const cask of [...withoutStore, ...closedCasks]) await ask(`${path}?cask=${cask}`);
		for (const query of [
			`cask=${given.cask}x`,
			`cask=${given.cask.slice(0, -8)}`,
			`cask=${given.cask}&cask=${given.cask}`,
			`cask=${cid}`,
			`cask=${key}`,
			`aid=${cid}`,
			`cask=${given.cask}&aid=${cid}`,
			`cask=${given.cask}&vid=${cid}`,
			`cask=${ofVisit.cask}&vid=${given.vid}`,
		])
			await ask(`${path}?${query}`, { headers: { cookie: cid, authorization: `Bearer ${given.cask}` } });
		await ask(`${path}?cask=${given.cask}`, { method: 'POST', body: cid });
		await ask(`${path}/${given.cask}`);
	}
	await ask(`/%zz?cask=${given.cask}`);
	for (const head of [
		`GET /visscores?cask=${given.cask} HTTP/9.9\r\n\r\n`,
		`GET /visscores?cask=${given.cask} HTTP/1.1\r\nhost: x\r\nx: ${cid.repeat(2000)}\r\n\r\n`,
		`GET /visscores?cask=${given.cask} HTTP/1.1\r\n\r\n`,
	]) {
		const connection = await connectTo(t, url);
		connection.send(head);
		await keep('raw', await connection.answer());
		connection.destroy();
	}
	// One address after the others, so that nothing else is refused.
	for (let count = 0; count < 201; count++) await fire('{');

	// The test has been everywhere.
	const reads = paths.flatMap((path) =>
		[200, 401, 403, 405, 500].map((status) => `${path.slice(1)} ${status}`),
	);
	const expected = [
		...[200, 400, 403, 405, 413, 415, 429, 500].map((status) => `hit ${status}`),
		...[200, 400, 403, 429, 500].map((status) => `hit.gif ${status}`),
		...reads,
		...['raw 400', 'raw 431'],
	];
	assert.deepEqual(
		expected.filter((each) => !statuses.has(each)),
		[],
	);

	const metrics = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
	assert.match(metrics, /caskade_http_requests_total\{operation="getSegments",status="500"\} 8/);
	await server.stop();
	const logs = logged.join('');
	for (const message of ['answered', 'refused', 'failed'])
		assert.ok(logs.includes(`"msg":"${message}`), `nothing logged of '${message}'`);

	// Of a cask any part would do: that after the header is of one alone.
	secrets.push(...secrets.flatMap((cask) => cask.split('.').slice(1)));
	secrets.push(cid, email, key, key.slice('caskade_key_'.length, -4), folder, ...addresses);
	const told = new Map<string, readonly string[]>([
		[answers.join('\n'), secrets],
		[metrics, [...secrets, given.vid, given.sid, ofVisit.sid]],
		[logs, [...secrets, given.vid, given.sid, ofVisit.sid, new URL('..', import.meta.url).pathname]],
	]);
	for (const [content, of] of told) {
		for (const secret of of) assertWithout(content, secret);
		const found = statements.exec(content);
		assert.equal(found, null, `${content.slice(Math.max(0, (found?.index ?? 0) - 200))}`.slice(0, 400));
	}

	// What is on the disk, byte for byte: the write-ahead logs and what has been deleted, too.
	await store.close();
	const forms = addresses.flatMap((address) => [
		address,
		hash('sha256', address, 'hex'),
		hash('sha256', address, 'base64url'),
		hash('md5', address, 'hex'),
	]);
	const never = [...forms, '127.0.0.1', email, key, given.cask, given.cask.split('.')[2], browserUserAgent];
	const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((each) => each.isFile());
	assert.ok(files.length >= 4);
	let cids = 0;
	for (const { parentPath, name } of files) {
		const content = readFileSync(join(parentPath, name), 'latin1');
		for (const secret of never) assertWithout(content, secret as string);
		if (content.includes(cid)) cids++;
	}
	// The search finds what is stored.
	assert.ok(cids > 0);
});

function assertWithout(content: string, secret: string): void {
	const at = content.indexOf(secret);
	assert.equal(at, -1, `${secret}: ${content.slice(Math.max(0, at - 200), at + 200)}`);
}
