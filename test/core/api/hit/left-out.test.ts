import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { profilesOf } from '../../../../src/core/store/account/reading/visitors.ts';
import { browserUserAgent, startService } from '../../../support.ts';
import { loseSigningKeys, setSchemaVersion } from '../../store/damage.ts';
import { startProxiedService } from '../../store/postgres/service.ts';
import { installedPostgresDatabase } from '../../store/postgres-server.ts';

const everything = '?include=scores,segments';

/** The log line about what an answer lacks. */
function assertLogged(logged: readonly string[], answer: Response): void {
	const requestId = answer.headers.get('x-request-id');
	const entry = logged
		.map((line) => JSON.parse(line))
		.find((line) => line.requestId === requestId && line.cause);
	assert.equal(entry?.level, 'error');
	assert.deepEqual([entry.operation, entry.client, entry.aid], ['collectHit', 'acme', 'c-a-acme-uk']);
}

async function assertStoredWithout(answer: Response, fields: readonly string[]): Promise<void> {
	assert.equal(answer.status, 200, await answer.clone().text());
	assert.equal(answer.headers.get('x-hit-stored'), '1');
	assert.deepEqual(Object.keys((await answer.json()) as object), fields);
}

test('if a hit is stored but its scores cannot be read, the answer is 200 without them', async (t) => {
	const { hit, sendHit, store, folder, aid, logged } = await startService(t);
	const { vid } = await hit();
	const { id } = await store.control.account(aid);
	const file = join(folder, 'accounts', `${id}.sqlite`);
	// The writer has the file open already; a reader opens it now, and checks its version.
	const version = setSchemaVersion(file, 99);
	const answer = await sendHit({ vid }, {}, everything);
	setSchemaVersion(file, version);
	await assertStoredWithout(answer, ['vid', 'sid', 'cask', 'caskExpiresAt']);
	assertLogged(logged, answer);
	const whole = await hit({ vid }, {}, everything);
	assert.equal(whole.vid, vid);
	assert.ok(whole.scores && whole.segments);
	const [profile] = (await store.read(id, profilesOf([vid]))).values();
	assert.equal(profile?.hits, 3);
});

test('the same on PostgreSQL, when the read loses its connection', async (t) => {
	const { proxy, server, acme, logged } = await startProxiedService(t, await installedPostgresDatabase(), {});
	const send = () =>
		fetch(`${server.url}/hit${everything}`, {
			method: 'POST',
			headers: { 'content-type': 'text/plain', 'user-agent': browserUserAgent },
			body: JSON.stringify({ aid: acme.aid }),
		});
	proxy.cutsStatement = 'read visitor';
	const answer = await send();
	await assertStoredWithout(answer, ['vid', 'sid', 'cask', 'caskExpiresAt']);
	assertLogged(logged, answer);
	proxy.restore();
	await assertStoredWithout(await send(), ['vid', 'sid', 'cask', 'caskExpiresAt', 'scores', 'segments']);
});

test('if a hit is stored but no cask can be signed, the page still gets its vid and sid', async (t) => {
	const { sendHit, server, folder, logged } = await startService(t);
	loseSigningKeys(join(folder, 'control.sqlite'));
	await server.directory.refresh();
	const answer = await sendHit();
	await assertStoredWithout(answer, ['vid', 'sid']);
	assertLogged(logged, answer);
});

test('a hit whose outcome on PostgreSQL is unknown is answered as unknown', async (t) => {
	const { proxy, server, acme } = await startProxiedService(t, await installedPostgresDatabase(), {});
	proxy.commitFault = 'cut after';
	const answer = await fetch(`${server.url}/hit`, {
		method: 'POST',
		headers: { 'content-type': 'text/plain', 'user-agent': browserUserAgent },
		body: JSON.stringify({ aid: acme.aid }),
	});
	assert.equal(answer.status, 500);
	assert.equal(
		await answer.text(),
		'{"message":"Internal server error.","validationErrors":"outcome unknown; the hit may be stored"}',
	);
});
