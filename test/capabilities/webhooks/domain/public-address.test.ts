import assert from 'node:assert/strict';
import { BlockList } from 'node:net';
import { test } from 'node:test';
import fc from 'fast-check';
import { isPublicAddress } from '../../../../src/capabilities/webhooks/domain/public-address.ts';

/** What is not for the public internet: IANA's registry of special-purpose addresses, and multicast. */
const special = new BlockList();
for (const network of [
	...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12'],
	...[
		'192.0.0.0/24',
		'192.0.2.0/24',
		'192.31.196.0/24',
		'192.52.193.0/24',
		'192.88.99.0/24',
		'192.168.0.0/16',
	],
	...['192.175.48.0/24', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4'],
]) {
	const [address = '', bits] = network.split('/');
	special.addSubnet(address, Number(bits), 'ipv4');
}

type Ipv4 = readonly [number, number, number, number];

const byte = fc.integer({ min: 0, max: 255 });
const ipv4 = fc.oneof(
	fc.tuple(byte, byte, byte, byte),
	fc.constantFrom<Ipv4[]>(
		[127, 0, 0, 1],
		[10, 1, 2, 3],
		[169, 254, 169, 254],
		[192, 168, 0, 1],
		[8, 8, 8, 8],
	),
);
const dotted = (address: Ipv4) => address.join('.');
const isPublicIpv4 = (address: Ipv4) => !special.check(dotted(address), 'ipv4');
const group = fc.integer({ min: 0, max: 0xffff });
const hex = (value: number) => value.toString(16);
const groups = ([a, b, c, d]: Ipv4) => `${hex(a * 256 + b)}:${hex(c * 256 + d)}`;
const inverted = ([a, b, c, d]: Ipv4): Ipv4 => [255 - a, 255 - b, 255 - c, 255 - d];

test('of IPv4, all but the special addresses are public', () => {
	fc.assert(fc.property(ipv4, (address) => isPublicAddress(dotted(address)) === isPublicIpv4(address)));
});

test('an IPv6 address that stands for an IPv4 address is as public as that one, however it is written', () => {
	const prefix = fc.constantFrom(
		'::',
		'::ffff:',
		'::ffff:0:',
		'64:ff9b::',
		'0:0:0:0:0:FFFF:',
		'0064:FF9B:0:0:0:0:',
	);
	fc.assert(
		fc.property(prefix, ipv4, (start, address) => {
			for (const text of [start + groups(address), start + dotted(address)]) {
				assert.equal(isPublicAddress(text), isPublicIpv4(address), text);
				assert.equal(
					isPublicAddress(new URL(`http://[${text}]`).hostname.slice(1, -1)),
					isPublicIpv4(address),
				);
			}
		}),
	);
});

test('a tunnel is as public as its ends', () => {
	fc.assert(
		fc.property(ipv4, ipv4, group, group, fc.constantFrom('0', '200'), (address, server, x, y, flag) => {
			const isPublic = isPublicIpv4(address);
			assert.equal(isPublicAddress(`2002:${groups(address)}:${hex(x)}::${hex(y)}`), isPublic, '6to4');
			const teredo = `2001:0:${groups(server)}:${hex(x)}:${hex(y)}:${groups(inverted(address))}`;
			assert.equal(isPublicAddress(teredo), isPublic && isPublicIpv4(server), teredo);
			const isatap = `2a00:${hex(x)}:1:2:${flag}:5efe:${groups(address)}`;
			assert.equal(isPublicAddress(isatap), isPublic, isatap);
			assert.equal(isPublicAddress(isatap.replace('2a00', 'fd00')), false);
		}),
	);
});

test('no address of the local prefix of NAT64, and none outside 2000::/3 that stands for no other, is public', () => {
	const rest = fc.array(group, { minLength: 5, maxLength: 5 });
	fc.assert(
		fc.property(group, rest, (first, others) => {
			const tail = others.map(hex).join(':');
			assert.equal(isPublicAddress(`64:ff9b:1:${tail}`), false);
			fc.pre(first >> 13 !== 1);
			assert.equal(isPublicAddress(`${hex(first)}:1:1:${tail}`), false);
		}),
	);
});

test('some addresses', () => {
	const local = [
		...['::', '::1', '::127.0.0.1', '::7f00:1', '::ffff:0:7f00:1', '64:ff9b::7f00:1', '64:ff9b:1::808:808'],
		...[
			'2002:7f00:1::',
			'2001:0:808:808::80ff:fffe',
			'fe80::1',
			'fe80::1%lo',
			'fd00::1',
			'fec0::1',
			'ff02::1',
		],
		...[
			'100::1',
			'2001:db8::1',
			'2001:2::1',
			'2001:10::1',
			'3fff::1',
			'4000::1',
			'5f00::1',
			'2a00::5efe:7f00:1',
		],
	];
	for (const address of local) assert.equal(isPublicAddress(address), false, address);
	for (const address of ['2606:2800:21f:cb07:6820:80da:af6b:8b2c', '64:ff9b::808:808', '2002:808:808::1'])
		assert.equal(isPublicAddress(address), true, address);
});
