import { createHmac } from 'node:crypto';
import type { ActiveWebhook } from './domain/webhook.ts';

/** The headers of a delivery, by Standard Webhooks 1.0.0. While secrets are rotated, there are two signatures. */
export function signedHeaders(
	{ secret, previous }: Pick<ActiveWebhook, 'secret' | 'previous'>,
	{ id, body, atMs }: { readonly id: string; readonly body: string; readonly atMs: number },
): Record<string, string> {
	const timestamp = String(Math.floor(atMs / 1000));
	const secrets = [secret, ...(previous && previous.untilMs > atMs ? [previous.secret] : [])];
	const sign = (one: string) => {
		const key = Buffer.from(one.replace(/^whsec_/, ''), 'base64');
		return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
	};
	return {
		'webhook-id': id,
		'webhook-timestamp': timestamp,
		'webhook-signature': secrets.map(sign).join(' '),
	};
}
