import assert from 'node:assert/strict';
import { argon2Sync } from 'node:crypto';
import { test } from 'node:test';
import { hashPassword, isPassword } from '../../../../src/capabilities/people/access/passwords.ts';

/** A password as it would be stored if its hash cost little. */
function cheaplyStored(password: string): string {
	const nonce = Buffer.alloc(16, 1);
	const cheap = { memory: 64, passes: 1, parallelism: 1, tagLength: 32 };
	const tag = argon2Sync('argon2id', { ...cheap, message: password, nonce });
	const phc = [nonce, tag].map((bytes) => bytes.toString('base64').replaceAll('=', '')).join('$');
	return `$argon2id$v=19$m=64,t=1,p=1$${phc}`;
}

test('a password is kept as argon2id with 19 MiB and two passes, with a salt of its own', async () => {
	const stored = await hashPassword('correct horse battery');
	assert.match(stored, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[\w+/]{22}\$[\w+/]{43}$/);
	assert.notEqual(await hashPassword('correct horse battery'), stored);
	assert.equal(await isPassword('correct horse battery', stored), true);
	assert.equal(await isPassword('correct horse battery ', stored), false);
	assert.equal(await isPassword('', stored), false);
});

test('what looks the same is the same password; another cost is read from where it is stored', async () => {
	const stored = await hashPassword('caf\u00e9 caf\u00e9 caf\u00e9');
	assert.equal(await isPassword('cafe\u0301 cafe\u0301 cafe\u0301', stored), true);
	assert.equal(await isPassword('as long as it takes', cheaplyStored('as long as it takes')), true);
});

test('who is unknown takes a hash, too, and no password opens it', async () => {
	const begunAt = process.cpuUsage();
	assert.equal(await isPassword('correct horse battery', null), false);
	const { user, system } = process.cpuUsage(begunAt);
	assert.ok(user + system > 5000, 'argon2 takes some ten milliseconds of a core');
});

test('a password that is short or endless is refused', async () => {
	await assert.rejects(hashPassword('eleven long'), /has 12 to 256 characters/);
	await assert.rejects(hashPassword('x'.repeat(257)), /has 12 to 256 characters/);
	assert.equal(await isPassword('x'.repeat(1_000_000), null), false);
});

test('where too many wait, a guess is refused at once', async () => {
	const stored = cheaplyStored('as long as it takes');
	const guesses = await Promise.allSettled(Array.from({ length: 110 }, () => isPassword('a guess', stored)));
	const refused = guesses.filter(({ status }) => status === 'rejected');
	assert.equal(refused.length, 8, 'all but two that run and a hundred that wait');
	assert.equal(await isPassword('a guess', null), false);
});
