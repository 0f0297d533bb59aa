import assert from 'node:assert/strict';
import { BlockList } from 'node:net';
import { test } from 'node:test';
import fc from 'fast-check';
import { Networks } from '../../../src/core/domain/networks.ts';

test('an address is in a network as Node has it', () => {
	const v4 = fc.tuple(fc.ipV4(), fc.integer({ min: 0, max: 32 }));
	const v6 = fc.tuple(fc.ipV6(), fc.integer({ min: 0, max: 128 }));
	const isPlain = ([address]: [string, number]) =>
		!/^(0*:){2,}.*|::ffff/i.test(address) && !/\./.test(address);
	fc.assert(
		fc.property(
			fc.array(v4, { maxLength: 8 }),
			fc.array(v6.filter(isPlain), { maxLength: 8 }),
			fc.array(fc.ipV4(), { maxLength: 20 }),
			(four, six, asked) => {
				const list = new BlockList();
				for (const [address, bits] of four) list.addSubnet(address, bits, 'ipv4');
				const text = [...four, ...six].map(([address, bits]) => `${address}/${bits}`).join('\n');
				const networks = new Networks(text);
				const others = six.filter(([, bits]) => bits < 97);
				for (const address of [...asked, ...four.map(([one]) => one)])
					if (others.length === 0)
						assert.equal(networks.has(address), list.check(address), `${address} in ${text}`);
				for (const [address] of six) assert.ok(networks.has(address));
			},
		),
	);
});

test('accepts comments, spaces and single addresses; IPv4-mapped IPv6 is IPv4', () => {
	const networks = new Networks('# offices\n 203.0.113.0/24 # first\r\n\n2001:db8::/32\n198.51.100.7\n');
	for (const address of [
		'203.0.113.0',
		'203.0.113.255',
		'::ffff:203.0.113.9',
		'2001:db8:9::1',
		'198.51.100.7',
	])
		assert.ok(networks.has(address), address);
	for (const address of ['203.0.112.255', '203.0.114.0', '2001:db9::', '198.51.100.8', '::1'])
		assert.ok(!networks.has(address), address);
	assert.ok(!new Networks('').has('127.0.0.1'));
});

test('an invalid network is reported with its line', () => {
	for (const line of [
		'10.0.0.0/33',
		'10.0.0/8',
		'10',
		'example.com',
		'::/129',
		'10.0.0.0/',
		'10.0.0.0/8/8',
		'300.0.0.1',
		'0x7f.1',
	])
		assert.throws(() => new Networks(`127.0.0.1\n${line}`), /^RangeError: line 2 is not a network/, line);
});

test('fifty thousand networks cost no more than ten', () => {
	const lines = Array.from(
		{ length: 50_000 },
		(_, n) => `${10 + (n >> 16)}.${(n >> 8) & 255}.${n & 255}.0/25`,
	);
	const networks = new Networks(lines.join('\n'));
	const beganMs = performance.now();
	for (let count = 0; count < 10_000; count++) networks.has('10.200.7.130');
	assert.ok(performance.now() - beganMs < 10_000);
	assert.ok(networks.has('10.100.7.3'));
	assert.ok(!networks.has('10.100.7.130'));
});
