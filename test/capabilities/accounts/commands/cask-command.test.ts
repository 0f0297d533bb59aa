import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { openStore } from '../../../../src/assembly/open-store.ts';
import { CaskError, CaskVerifier } from '../../../../src/core/access/cask-verifier.ts';
import { dayMs } from '../../../../src/core/durations.ts';
import { openFor } from '../../../core/store/engines.ts';
import { assertMisused, assertRefused, caskade, caskadeJson } from '../../../process.ts';
import { temporaryFolder } from '../../../support.ts';

const vid = '0123456789abcdef0123456789abcdef';
const sid = 'fedcba9876543210fedcba9876543210';

interface Issued {
	readonly cask: string;
	readonly expiresAt: string;
}

async function withAccount(t: TestContext) {
	const address = `sqlite:${temporaryFolder(t)}`;
	const at = ['--database', address];
	await caskade(['account', 'create', 'c-a-x', '--client', 'x', ...at]);
	const issue = (...flags: string[]) =>
		caskadeJson(['cask', 'issue', 'c-a-x', ...flags, ...at]) as Promise<Issued>;
	return { address, at, issue };
}

/** The claims as a server with these databases would find them now. */
async function claimsOf({ cask }: Issued, address: string) {
	const store = await openStore(address);
	try {
		const found = new CaskVerifier().verify(cask, await store.control.signingKeys(), Date.now());
		if (found instanceof CaskError) throw found;
		return found;
	} finally {
		await store.close();
	}
}

test('a cask is issued for a visitor or for a visit, for 24 hours or less', async (t) => {
	const { address, issue } = await withAccount(t);
	const ofVisitor = await issue('--vid', vid);
	const { issuedAtMs, expiresAtMs, expiresAt, ...of } = await claimsOf(ofVisitor, address);
	assert.deepEqual(of, { aid: 'c-a-x', scope: 'vid', subject: vid });
	assert.equal(expiresAtMs, issuedAtMs + dayMs);
	assert.equal(ofVisitor.expiresAt, new Date(expiresAtMs).toISOString());
	assert.equal(expiresAt, ofVisitor.expiresAt);
	assert.ok(Math.abs(issuedAtMs - Date.now()) < 60_000);
	const ofVisit = await claimsOf(await issue('--sid', sid), address);
	assert.deepEqual([ofVisit.scope, ofVisit.subject], ['sid', sid]);
	for (const [ttl, lifetimeMs] of [
		['90s', 90_000],
		['15m', 900_000],
		['24h', dayMs],
	] as const) {
		const claims = await claimsOf(await issue('--vid', vid, '--ttl', ttl), address);
		assert.equal(claims.expiresAtMs - claims.issuedAtMs, lifetimeMs);
	}
});

test('8 concurrent commands that need the first signing key all use the same one', async (t) => {
	const { address, issue } = await withAccount(t);
	const issued = await Promise.all(Array.from({ length: 8 }, () => issue('--vid', vid)));
	for (const each of issued) assert.equal((await claimsOf(each, address)).subject, vid);
	const store = await openFor(t, address);
	assert.equal((await store.control.signingKeys()).length, 1);
});

test('an invalid subject of a cask is refused', async (t) => {
	const { at } = await withAccount(t);
	const issue = (...args: string[]) => caskade(['cask', 'issue', ...args, ...at]);
	assertRefused(await issue('c-a-x'), /Set --vid or --sid/);
	assertRefused(await issue('c-a-y', '--vid', vid), /There is no account c-a-y/);
	assertMisused(await issue('c-a-x', '--vid', vid, '--sid', sid), /cannot be used with/);
	for (const wrong of ['', 'x', vid.toUpperCase(), `${vid}0`])
		assertMisused(await issue('c-a-x', `--vid=${wrong}`), /32 lower-case hexadecimal/);
	for (const ttl of ['25h', '0s', '1d', '24', '-1h', '1.5h'])
		assertMisused(await issue('c-a-x', '--vid', vid, `--ttl=${ttl}`), /at most 24h/);
});

test('a cask issued right after a revocation is valid', async (t) => {
	const { address, issue } = await withAccount(t);
	const store = await openFor(t, address);
	const { id } = await store.control.account('c-a-x');
	await store.control.revokeCasks(id, [vid]);
	const { issuedAtMs } = await claimsOf(await issue('--vid', vid), address);
	assert.ok(issuedAtMs > Number(await store.control.casksRevokedAtMs(id, vid)));
});

test('cask rotate: earlier casks stay valid, and the secrets are not shown', async (t) => {
	const { address, at, issue } = await withAccount(t);
	const before = await issue('--vid', vid);
	const { kid, ...rest } = (await caskadeJson(['cask', 'rotate', ...at])) as {
		kid: string;
		signsFrom: string;
	};
	assert.deepEqual(Object.keys(rest), ['signsFrom']);
	const store = await openFor(t, address);
	const keys = await store.control.signingKeys();
	assert.equal(keys[0]?.kid, kid);
	assert.equal(keys.length, 2);
	assert.equal((await claimsOf(before, address)).subject, vid);
	const { stdout } = await caskade(['cask', 'rotate', ...at]);
	assert.match(stdout, /^Key s_[0-9a-f]{12} signs from \S+Z\. Earlier casks stay valid/);
});
