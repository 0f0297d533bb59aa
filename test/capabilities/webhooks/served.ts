import assert from 'node:assert/strict';
import { eventually } from '../../eventually.ts';
import { caskadeJson, ServeProcess } from '../../process.ts';
import { Receiver } from './receiver.ts';

/** A server on an empty database sends a webhook a hit, an upload and a conflict, and logs no secret. */
export async function checkServedWebhook(address: string): Promise<void> {
	const at = ['--database', address];
	const aid = 'c-a-acme-uk';
	await caskadeJson(['account', 'create', aid, '--client', 'acme', ...at]);
	const { key } = (await caskadeJson(['key', 'issue', '--client', 'acme', ...at])) as { key: string };
	await using closing = new AsyncDisposableStack();
	const receiver = await Receiver.start({ closing });
	await using server = await ServeProcess.start([...at, '--log-level', 'debug']);
	const flags = ['--url', receiver.url, '--events', 'segment.entered,goal.reached,subscription.conflict'];
	const create = ['webhook', 'create', aid, ...flags, '--allow-private', '--with-cid', ...at];
	const { secret } = (await caskadeJson(create)) as { secret: string };
	receiver.secret = secret;
	await eventually('a server that runs begins', () => receiver.types.includes('segments.recomputed'), 5000);
	const headers = { 'content-type': 'application/json', 'user-agent': 'Mozilla/5.0 Firefox/140.0' };
	const hit = await fetch(`${server.url}/hit`, {
		method: 'POST',
		headers,
		body: JSON.stringify({ aid, url: 'https://shop.example/pricing', cid: 'customer-1' }),
	});
	const { vid } = (await hit.json()) as { vid: string };
	await eventually('the hit', () => receiver.types.includes('segment.entered'), 5000);
	const event = { tid: 'T-1', subid: 'S-1', cid: 'customer-1', evt: 'newsletter', rvn: 499 };
	for (const rvn of [499, 500])
		await eventually('the rate allows it', async () => {
			const { status } = await server.upload(key, { aid, data: [{ ...event, rvn }] });
			return status === 201;
		});
	await eventually('the goal', () => receiver.types.includes('goal.reached'), 5000);
	await eventually('the conflict', () => receiver.types.includes('subscription.conflict'), 5000);
	const told = receiver.received.filter(({ message }) => 'vid' in message.data);
	assert.ok(told.every(({ message: { data } }) => data.vid === vid && data.cid === 'customer-1'));
	assert.deepEqual(receiver.problems, []);
	const { code, stderr, stdout } = await server.kill('SIGTERM');
	assert.equal(code, 0);
	assert.ok(!`${stdout}${stderr}`.includes(secret.slice(6)) && !stderr.includes('customer-1'));
}
