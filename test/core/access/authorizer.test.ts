import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import fc from 'fast-check';
import { Authorizer } from '../../../src/core/access/authorizer.ts';
import { type CaskSubject, issueCask } from '../../../src/core/access/cask.ts';
import { AccessDirectory } from '../../../src/core/access/directory.ts';
import { dayMs } from '../../../src/core/durations.ts';
import { ApiError } from '../../../src/core/errors.ts';
import { SqliteStore } from '../../../src/core/store/sqlite/sqlite-store.ts';
import { temporaryFolder } from '../../support.ts';
import { addAccount } from '../store/engines.ts';

const noon = Date.UTC(2026, 10, 21, 12);
const vid = '0123456789abcdef0123456789abcdef';
const sid = 'fedcba9876543210fedcba9876543210';
const ofVisitor = { aid: 'c-a-acme-uk', scope: 'vid', subject: vid } as const;
const ofVisit = { aid: 'c-a-acme-uk', scope: 'sid', subject: sid } as const;

/** A real control database with one account, and a clock that only the test moves. */
async function start(t: TestContext) {
	const clock = { nowMs: noon };
	const store = new SqliteStore(join(temporaryFolder(t), 'data'), { now: () => clock.nowMs });
	const accountId = await addAccount(store, 'c-a-acme-uk');
	await store.control.ensureSigningKeys();
	const directory = await AccessDirectory.load(store.control, (error) => assert.fail(String(error)));
	t.after(async () => {
		await directory.stop();
		await store.close();
	});
	const authorizer = new Authorizer(directory, () => clock.nowMs);
	const issue = (subject: CaskSubject = ofVisitor) =>
		issueCask(directory.signingKeys, subject, clock.nowMs).cask;
	return { clock, store, control: store.control, accountId, directory, authorizer, issue };
}

type Started = Awaited<ReturnType<typeof start>>;
type Query = Parameters<Authorizer['authorize']>[0];

function assertUnauthorized({ authorizer }: Started, query: Query, reason: string): void {
	const error = authorizer.authorize(query);
	assert.ok(error instanceof ApiError);
	assert.equal(error.code, 'unauthorized');
	assert.deepEqual(error.headers, {
		'www-authenticate': `Bearer error="invalid_token", error_description="${reason}"`,
	});
	assertTellsNothing(error, query);
}

function assertForbidden({ authorizer }: Started, query: Query): void {
	const error = authorizer.authorize(query);
	assert.ok(error instanceof ApiError);
	assert.equal(error.code, 'forbidden');
	assert.deepEqual(error.headers, {});
	assertTellsNothing(error, query);
}

function allowed({ authorizer }: Started, query: Query) {
	const found = authorizer.authorize(query);
	assert.ok(!(found instanceof ApiError));
	return found;
}

/** Neither a log nor an answer that shows everything of the error shows any of the cask. */
function assertTellsNothing(error: ApiError, { cask }: Query): void {
	const shown = JSON.stringify([
		error.message,
		error.stack,
		error.detail,
		error.headers,
		String(error.cause),
	]);
	for (const each of [cask].flat())
		if (each && each.length > 8) assert.equal(shown.includes(each.slice(0, 8)), false);
}

test('a cask gives access to its subject, whether or not the query names it', async (t) => {
	const { authorizer, accountId, issue, directory } = await start(t);
	const account = directory.account('c-a-acme-uk');
	const cask = issue();
	const rest = { aid: ofVisitor.aid, accountId, account, expiresAt: new Date(noon + dayMs).toISOString() };
	for (const query of [{}, { aid: ofVisitor.aid }, { vid }, { aid: ofVisitor.aid, vid }])
		assert.deepEqual(authorizer.authorize({ cask, ...query }), { ...rest, scope: 'vid', subject: vid });
	const ofOneVisit = issue(ofVisit);
	for (const query of [{}, { sid }, { aid: ofVisit.aid, sid }])
		assert.deepEqual(authorizer.authorize({ cask: ofOneVisit, ...query }), {
			...rest,
			scope: 'sid',
			subject: sid,
		});
});

test('without exactly one cask: 401', async (t) => {
	const started = await start(t);
	const cask = started.issue();
	assertUnauthorized(started, {}, 'the cask is missing');
	assertUnauthorized(started, { cask: '' }, 'the cask is missing');
	assertUnauthorized(started, { cask: [cask, cask] }, 'more than one cask was sent');
	assertUnauthorized(started, { cask: ['', cask] }, 'more than one cask was sent');
});

test('a malformed, forged, early or expired cask: 401, with the reason', async (t) => {
	const started = await start(t);
	const { clock, directory } = started;
	const cask = started.issue();
	const [head = '', claims = '', signature = ''] = cask.split('.');
	const none = Buffer.from('{"alg":"none"}').toString('base64url');
	const malformed = 'the cask is malformed';
	for (const wrong of ['cask', `${head}.${claims}`, `${none}.${claims}.`, 'x'.repeat(10_240), 'a.b.c'])
		assertUnauthorized(started, { cask: wrong }, malformed);
	const [key] = directory.signingKeys;
	assert.ok(key);
	const other = issueCask([{ ...key, secret: 'AAAA' }], ofVisitor, noon).cask;
	assertUnauthorized(started, { cask: other }, "the cask's signature is not valid");
	const tampered = Buffer.from(claims, 'base64url').toString().replace(vid, sid);
	assertUnauthorized(
		started,
		{ cask: `${head}.${Buffer.from(tampered).toString('base64url')}.${signature}` },
		"the cask's signature is not valid",
	);
	const { issue: elsewhere } = await start(t);
	assertUnauthorized(started, { cask: elsewhere() }, 'the cask is signed with an unknown key');
	clock.nowMs = noon - 61_000;
	assertUnauthorized(started, { cask }, 'the cask is not valid yet');
	clock.nowMs = noon + dayMs + 1000;
	assertUnauthorized(started, { cask }, 'the cask has expired');
});

test('a signed cask with an unknown scope: 401', async (t) => {
	const started = await start(t);
	const [key] = started.directory.signingKeys;
	assert.ok(key);
	const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
	const iat = noon / 1000;
	const input = `${part({ alg: 'HS256', typ: 'JWT', kid: key.kid })}.${part({ aid: ofVisitor.aid, sub: vid, scope: 'all', iat, exp: iat + 60 })}`;
	const signature = createHmac('sha256', Buffer.from(key.secret, 'base64url')).update(input);
	assertUnauthorized(
		started,
		{ cask: `${input}.${signature.digest('base64url')}` },
		"the cask's claims are not valid",
	);
});

test("a cask that does not match the query's account, visitor or visit: 403", async (t) => {
	const started = await start(t);
	const cask = started.issue();
	const ofOneVisit = started.issue(ofVisit);
	for (const query of [
		{ cask, aid: 'c-a-acme-us' },
		{ cask, aid: '' },
		{ cask, aid: [ofVisitor.aid, ofVisitor.aid] },
		{ cask, vid: sid },
		{ cask, vid: '' },
		{ cask, vid: vid.toUpperCase() },
		{ cask, vid: [vid, vid] },
		{ cask, sid },
		{ cask, sid: vid },
		{ cask: ofOneVisit, vid },
		{ cask: ofOneVisit, vid: sid },
		{ cask: ofOneVisit, sid: vid },
	])
		assertForbidden(started, query);
});

test('a cask of a disabled or unknown account: 403, until the account is enabled again', async (t) => {
	const started = await start(t);
	const { control, directory } = started;
	const cask = started.issue();
	await control.setAccountDisabled(ofVisitor.aid, true);
	await directory.refresh();
	assertForbidden(started, { cask });
	assertForbidden(started, { cask: started.issue({ ...ofVisitor, aid: 'c-a-none' }) });
	await control.setAccountDisabled(ofVisitor.aid, false);
	await directory.refresh();
	assert.equal(allowed(started, { cask }).subject, vid);
});

test('a cask from before a revocation: 403; a later one is valid', async (t) => {
	const started = await start(t);
	const { control, directory, clock, accountId } = started;
	const cask = started.issue();
	const ofAnother = started.issue({ ...ofVisitor, subject: sid });
	const elsewhere = await addAccount(started.store, 'c-a-acme-us');
	clock.nowMs = noon + 500;
	await control.revokeCasks(elsewhere, [sid]);
	await control.revokeCasks(accountId, [vid]);
	await directory.refresh();
	assertForbidden(started, { cask });
	assertForbidden(started, { cask: started.issue() });
	assert.equal(allowed(started, { cask: ofAnother }).subject, sid);
	clock.nowMs = noon + 1000;
	assert.equal(allowed(started, { cask: started.issue() }).subject, vid);
	assertForbidden(started, { cask });
	clock.nowMs = noon + dayMs + 1000;
	assertUnauthorized(started, { cask }, 'the cask has expired');
});

test('after a rotation, earlier casks stay valid for their 24 hours', async (t) => {
	const started = await start(t);
	const { control, directory, clock } = started;
	const before = started.issue();
	clock.nowMs = noon + 1;
	await control.rotateSigningKeys();
	await directory.refresh();
	assert.equal(directory.signingKeys.length, 2);
	clock.nowMs = noon + 3000;
	const after = started.issue();
	assert.notEqual(after.split('.')[0], before.split('.')[0]);
	for (const cask of [before, after]) assert.equal(allowed(started, { cask }).subject, vid);
	clock.nowMs = noon + dayMs - 1;
	for (const cask of [before, after]) assert.equal(allowed(started, { cask }).subject, vid);
	clock.nowMs = noon + dayMs;
	assertUnauthorized(started, { cask: before }, 'the cask has expired');
	assert.equal(allowed(started, { cask: after }).subject, vid);
});

test('property: whatever the query, only the cask’s own account, visitor and visit are accessible', async (t) => {
	const started = await start(t);
	const { accountId } = started;
	const cask = started.issue();
	const value = fc.option(
		fc.oneof(fc.constantFrom('c-a-acme-uk', vid, sid, ''), fc.string(), fc.array(fc.string())),
		{ nil: undefined },
	);
	fc.assert(
		fc.property(fc.record({ aid: value, vid: value, sid: value }), (query) => {
			const fits =
				(query.aid === undefined || query.aid === ofVisitor.aid) &&
				(query.vid === undefined || query.vid === vid) &&
				query.sid === undefined;
			if (fits) assert.equal(allowed(started, { cask, ...query }).accountId, accountId);
			else assertForbidden(started, { cask, ...query });
		}),
	);
});

/** Two accounts that name origins, and the uk's cask. */
async function startWithOrigins(t: TestContext) {
	const started = await start(t);
	await addAccount(started.store, 'c-a-acme-us');
	for (const [aid, origin] of [
		['c-a-acme-uk', 'https://uk.example'],
		['c-a-acme-us', 'https://us.example'],
	] as const)
		await started.control.updateAccount(aid, { origins: [origin] });
	await started.directory.refresh();
	return started;
}

test('the origins that may read a denial: those of the claimed account; the cask takes precedence over aid', async (t) => {
	const { authorizer, clock, issue } = await startWithOrigins(t);
	const cask = issue();
	clock.nowMs += 2 * dayMs;
	const of = (query: Query) => authorizer.originsOf(query);
	assert.deepEqual(of({ cask, aid: 'c-a-acme-us' }), ['https://uk.example']);
	assert.deepEqual(of({ cask: `${cask}x` }), ['https://uk.example']);
	assert.deepEqual(of({ cask: [cask, cask], aid: 'c-a-acme-us' }), ['https://us.example']);
	const ofUnknown = issue({ ...ofVisitor, aid: 'c-a-none' });
	assert.deepEqual(of({ cask: ofUnknown, aid: 'c-a-acme-us' }), ['https://us.example']);
	assert.deepEqual(of({ aid: ['c-a-acme-us'] }), []);
	assert.deepEqual(of({}), []);
});

test('origins that an account names, or no longer names, restrict denials from then on', async (t) => {
	const { authorizer, control, directory, issue } = await start(t);
	const cask = issue();
	assert.deepEqual(authorizer.originsOf({ cask }), []);
	for (const origins of [['https://uk.example'], []]) {
		await control.updateAccount('c-a-acme-uk', { origins });
		await directory.refresh();
		assert.deepEqual(authorizer.originsOf({ cask }), origins);
	}
});

test('property: no query makes originsOf throw', async (t) => {
	const { authorizer } = await startWithOrigins(t);
	const part = fc.oneof(
		fc.string(),
		fc.json().map((json) => Buffer.from(json).toString('base64url')),
	);
	const cask = fc.oneof(
		fc.string(),
		fc.array(part, { maxLength: 4 }).map((parts) => parts.join('.')),
	);
	fc.assert(
		fc.property(cask, fc.string(), (cask, aid) => {
			assert.deepEqual(authorizer.originsOf({ cask, aid }), []);
		}),
	);
});
