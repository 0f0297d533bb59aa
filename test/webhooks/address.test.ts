import assert from 'node:assert/strict';
import type { lookup } from 'node:dns';
import { test } from 'node:test';
import { isPrivateHost, isPublicAddress, publicLookup, send } from '../../src/webhooks/send.ts';

test('only addresses of the public internet are public', () => {
	const notPublic = [
		...['0.0.0.0', '10.1.2.3', '100.64.0.1', '127.0.0.1', '169.254.169.254', '172.16.0.1', '192.168.1.1'],
		...['192.0.2.1', '198.18.0.1', '224.0.0.1', '255.255.255.255', '::', '::1', 'fe80::1', 'fd00::1'],
		...['::ffff:127.0.0.1', '::ffff:a00:1', '64:ff9b::7f00:1', '2002:7f00:1::', 'ff02::1'],
	];
	for (const address of notPublic) assert.equal(isPublicAddress(address), false, address);
	for (const address of ['93.184.215.14', '2606:2800:21f:cb07:6820:80da:af6b:8b2c'])
		assert.equal(isPublicAddress(address), true, address);
	assert.ok(isPrivateHost('https://0x7f000001/'));
	assert.ok(isPrivateHost('https://[::1]:8443/'));
	assert.ok(!isPrivateHost('https://crm.example/'));
});

test('a name is resolved once, and connections go only to its public addresses', async () => {
	let asked = 0;
	const resolveTo = (addresses: readonly string[]) =>
		((_host: string, _options: unknown, callback: (...args: unknown[]) => void) => {
			asked++;
			callback(
				null,
				addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
			);
		}) as unknown as typeof lookup;
	const ask = (addresses: readonly string[]) =>
		new Promise((resolve) => {
			publicLookup(resolveTo(addresses))('crm.example', { all: true }, (error, found) =>
				resolve(error ? error.message : found),
			);
		});
	assert.equal(await ask(['10.0.0.1', '::1']), 'the address is not a public one');
	assert.deepEqual(await ask(['10.0.0.1', '93.184.215.14']), [{ address: '93.184.215.14', family: 4 }]);
	assert.equal(asked, 2);
});

test('a name of this machine is refused', async () => {
	const { status, problem } = await send({
		...{ url: 'https://localhost:1/', allowPrivate: false, headers: {}, body: '{}' },
	});
	assert.deepEqual([status, problem], [null, 'the address is not a public one']);
});
