import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { WebhookVerificationError, webhooks } from '../../client/src/index.ts';

const secret = `whsec_${Buffer.from('a secret of 24 bytes, or so').toString('base64')}`;
const other = `whsec_${Buffer.from('another one, of 24 bytes!').toString('base64')}`;
const body = '{"type":"segment.entered","data":{"segment":"Käufer"}}';

/** Signed by the library of Standard Webhooks. */
function signed(by = secret, at = new Date(), text = body): Record<string, string> {
	return {
		'webhook-id': 'msg_1',
		'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
		'webhook-signature': new Webhook(by).sign('msg_1', at, text),
	};
}

test('messages signed by the library of Standard Webhooks are verified', async () => {
	const message = JSON.parse(body);
	assert.deepEqual(await webhooks.verify(body, signed(), secret), message);
	assert.deepEqual(await webhooks.verify(Buffer.from(body), new Headers(signed()), secret), message);
	const headers = Object.fromEntries(
		Object.entries(signed()).map(([name, value]) => [name.toUpperCase(), value]),
	);
	assert.deepEqual(await webhooks.verify(body, headers, secret.replace('whsec_', '')), message);
});

test('headers of any kind are read; a body that is parsed and a secret that is missing are told', async () => {
	// As libraries bring them that do not use the global class.
	const all = signed();
	const headers = { get: (name: string) => all[name] ?? null };
	assert.deepEqual(await webhooks.verify(body, headers, secret), JSON.parse(body));
	const misused = (rawBody: unknown, by: unknown, why: RegExp) =>
		assert.rejects(webhooks.verify(rawBody as string, all, by as string), {
			name: 'TypeError',
			message: why,
		});
	await misused(JSON.parse(body), secret, /^rawBody must be the body as received/);
	await misused(undefined, secret, /^rawBody must be/);
	for (const missing of [undefined, '', [secret, undefined]])
		await misused(body, missing, /^secret must be a non-empty string$/);
});

test('during a rotation, either signature and either secret is accepted', async () => {
	const both = signed();
	both['webhook-signature'] += ` ${signed(other)['webhook-signature']} v1a,unknown`;
	for (const known of [secret, other, [other, secret]]) await webhooks.verify(body, both, known);
	await webhooks.verify(body, signed(), [other, secret]);
});

test('changed, old and unsigned messages are rejected', async () => {
	const refused = (...args: Parameters<typeof webhooks.verify>) =>
		assert.rejects(webhooks.verify(...args), WebhookVerificationError);
	await refused(`${body} `, signed(), secret);
	await refused(body, signed(), other);
	await refused(body, signed(secret, new Date(Date.now() - 301_000)), secret);
	await refused(body, signed(secret, new Date(Date.now() + 302_000)), secret);
	for (const name of ['webhook-id', 'webhook-timestamp', 'webhook-signature'])
		await refused(body, { ...signed(), [name]: undefined }, secret);
	await refused(body, { ...signed(), 'webhook-id': 'msg_2' }, secret);
	await refused(body, { ...signed(), 'webhook-timestamp': 'now' }, secret);
	for (const signature of ['', 'v1', 'v1,', 'v1,%', 'v2,AAAA'])
		await refused(body, { ...signed(), 'webhook-signature': signature }, secret);
});
