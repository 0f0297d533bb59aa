import assert from 'node:assert/strict';
import { test } from 'node:test';
import { returnPath, SingleSignOn } from '../../../../src/capabilities/people/access/single-sign-on.ts';
import { startOidcProvider } from '../../../oidc.ts';

const consoleUrl = 'http://127.0.0.1:8081';

const because = (pattern: RegExp) => (error: unknown) => {
	assert.match(String((error as Error).cause), pattern);
	return true;
};

test('who somebody is at a provider is told by issuer and subject, whatever their mail address', async (t) => {
	const provider = await startOidcProvider(t, consoleUrl + returnPath);
	const sso = new SingleSignOn(provider, consoleUrl);
	const arriveAs = async (subject: string) => {
		const { address, kept } = await sso.depart();
		return sso.arrive((await provider.signIn(address, subject)).search.slice(1), kept);
	};
	provider.addresses.set('42', 'ada@example.com');
	assert.deepEqual(await arriveAs('42'), { issuer: provider.issuer, subject: '42' });
	provider.addresses.set('42', 'ada@example.org').set('43', 'ada@example.com');
	assert.deepEqual(await arriveAs('42'), { issuer: provider.issuer, subject: '42' });
	assert.deepEqual(await arriveAs('43'), { issuer: provider.issuer, subject: '43' });
});

test('an answer counts once, for the browser that asked, and with the secret', async (t) => {
	const provider = await startOidcProvider(t, consoleUrl + returnPath);
	const sso = new SingleSignOn(provider, consoleUrl);
	const [mine, other] = [await sso.depart(), await sso.depart()];
	const query = (await provider.signIn(mine.address, '42')).search.slice(1);
	await assert.rejects(sso.arrive(query, other.kept), because(/"state"/));
	await assert.rejects(sso.arrive(query, ''));
	await assert.rejects(
		sso.arrive(query.replace(/iss=[^&]*/, 'iss=https%3A%2F%2Fevil.example'), mine.kept),
		because(/"iss"/),
	);
	assert.equal((await sso.arrive(query, mine.kept)).subject, '42');
	await assert.rejects(sso.arrive(query, mine.kept), 'the code was used');
	const guesser = new SingleSignOn({ ...provider, clientSecret: 'a guess' }, consoleUrl);
	const again = await guesser.depart();
	const second = (await provider.signIn(again.address, '42')).search.slice(1);
	await assert.rejects(guesser.arrive(second, again.kept));
});

test('a provider that names itself otherwise, or is not there, is refused, and asked again later', async (t) => {
	const provider = await startOidcProvider(t, consoleUrl + returnPath);
	const issuer = provider.issuer.replace('127.0.0.1', 'localhost');
	const wrong = new SingleSignOn({ ...provider, issuer }, consoleUrl);
	await assert.rejects(wrong.depart(), /issuer does not match/);
	await assert.rejects(wrong.depart(), /issuer does not match/);
	const gone = new SingleSignOn({ ...provider, issuer: 'http://127.0.0.1:9' }, consoleUrl);
	await assert.rejects(gone.depart());
});
