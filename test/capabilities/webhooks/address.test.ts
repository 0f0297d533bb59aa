import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { type lookup, Resolver } from 'node:dns';
import { once } from 'node:events';
import { Agent } from 'node:https';
import { createServer } from 'node:net';
import { type TestContext, test } from 'node:test';
import { isPrivateHost, publicLookup, send } from '../../../src/capabilities/webhooks/send.ts';
import { eventually } from '../../eventually.ts';

const notPublic = 'the address is not public';

test('a URL with an address that is not public is refused, however it is written', async () => {
	for (const host of [
		...['127.0.0.1', '127.1', '2130706433', '0x7f000001', '0177.0.0.1', '169.254.169.254', '127.0.0.1.'],
		...[
			'[::1]',
			'[::127.0.0.1]',
			'[::7f00:1]',
			'[::ffff:127.0.0.1]',
			'[::ffff:0:7f00:1]',
			'[64:ff9b::7f00:1]',
		],
		...['[64:ff9b::10.0.0.1]', '[64:ff9b:1::808:808]', '[2002:7f00:1::]', '[2001::ffff:80ff:fffe]'],
	]) {
		const url = `https://${host}:8443/`;
		assert.ok(isPrivateHost(url), host);
		const { status, problem } = await send({ url, allowPrivate: false, headers: {}, body: '{}' });
		assert.deepEqual([status, problem], [null, notPublic], host);
	}
	assert.ok(!isPrivateHost('https://crm.example/'));
	assert.ok(!isPrivateHost('https://[64:ff9b::808:808]/'));
});

test('a name of this machine is refused', async () => {
	const { status, problem } = await send({
		url: 'https://localhost:1/',
		allowPrivate: false,
		headers: {},
		body: '{}',
	});
	assert.deepEqual([status, problem], [null, notPublic]);
});

/** A DNS server that gives the next of these lists of IPv4 addresses with each answer, and no IPv6 addresses. */
async function nameServer(t: TestContext, answers: readonly (readonly string[])[]) {
	let asked = 0;
	const socket = createSocket('udp4', (query, { port, address }) => {
		const question = query.subarray(12, query.indexOf(0, 12) + 5);
		const isIpv4 = question.readUInt16BE(question.length - 4) === 1;
		const addresses = isIpv4 ? (answers[asked++ % answers.length] ?? []) : [];
		const head = Buffer.from(query.subarray(0, 12));
		head.writeUInt16BE(0x8180, 2);
		head.writeUInt16BE(addresses.length, 6);
		head.fill(0, 8);
		// The name of the question, class IN, no time to live, four bytes.
		const records = addresses.map((text) =>
			Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ...text.split('.').map(Number)]),
		);
		socket.send(Buffer.concat([head, question, ...records]), port, address);
	});
	socket.bind(0, '127.0.0.1');
	await once(socket, 'listening');
	t.after(() => socket.close());
	const resolver = new Resolver();
	resolver.setServers([`127.0.0.1:${socket.address().port}`]);
	const resolve = (name: string, _options: unknown, callback: (...args: unknown[]) => void) =>
		resolver.resolve4(name, (error, addresses = []) =>
			callback(
				error,
				addresses.map((address) => ({ address, family: 4 })),
			),
		);
	return { find: publicLookup(resolve as typeof lookup), asked: () => asked };
}

test('a name that becomes private after it was public is never connected to', async (t) => {
	let connections = 0;
	const receiver = createServer((socket) => {
		connections++;
		socket.destroy();
	}).listen(0, '127.0.0.1');
	await once(receiver, 'listening');
	t.after(() => receiver.close());
	const { port } = receiver.address() as { port: number };
	// Nothing answers at the public address from here, or something that is not the receiver.
	const { find, asked } = await nameServer(t, [
		...[['93.184.215.14'], ['127.0.0.1'], ['127.0.0.1', '93.184.215.14'], ['93.184.215.14', '127.0.0.1'], []],
	]);
	const agent = new Agent({ keepAlive: true });
	t.after(() => agent.destroy());
	const problems: unknown[] = [];
	for (let attempt = 1; attempt <= 10; attempt++) {
		const delivery = {
			url: `https://rebinding.test:${port}/`,
			allowPrivate: false,
			headers: {},
			body: '{}',
			// Only what goes to a public address waits for an answer.
			agent,
			timeoutMs: attempt % 5 === 2 ? 30_000 : 50,
		};
		const { status, problem } = await send(delivery, find);
		assert.equal(status, null);
		await eventually('the name server is asked once more', () => asked() === attempt);
		problems.push(problem);
	}
	assert.equal(connections, 0);
	assert.deepEqual([problems[1], problems[6]], [notPublic, notPublic]);
});

test('of the addresses of a name, connections go only to public ones', async (t) => {
	const { find } = await nameServer(t, [['10.0.0.1', '93.184.215.14', '127.0.0.1']]);
	const found = (options: object) =>
		new Promise((resolve) => find('crm.test', options, (_error, ...addresses) => resolve(addresses)));
	assert.deepEqual(await found({ all: true }), [[{ address: '93.184.215.14', family: 4 }]]);
	assert.deepEqual(await found({}), ['93.184.215.14', 4]);
});
