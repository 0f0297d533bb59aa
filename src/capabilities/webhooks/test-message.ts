import type { Account } from '../../core/store/control/control-store.ts';
import type { Store } from '../../core/store/store.ts';
import { bodyOfMessage } from './message.ts';
import { send } from './send.ts';
import { signedHeaders } from './signature.ts';
import { insertMessages, messageId, saveAttempts } from './store/outbox.ts';

/**
 * Sends a test message to a webhook once, even if it is disabled, and stores the outcome among the deliveries.
 * @throws OperatorError if the webhook does not exist
 */
export async function sendTest(store: Store, account: Pick<Account, 'id' | 'aid'>, id: string) {
	const webhook = await store.control.webhook(account.id, id);
	const atMs = Math.floor(store.now());
	// In the order of other messages, but distinct: evaluations take numbers from the start of a millisecond.
	const sequence = atMs * 1000 + 500 + Math.floor(Math.random() * 500);
	const type = 'webhook.test';
	const body = bodyOfMessage({ type, aid: account.aid, sequence, atMs, data: {} }, false);
	const message = { webhook: id, sequence, type, vid: null, body } as const;
	const { url, allowPrivate } = webhook;
	const beganMs = performance.now();
	const { status, problem } = await send({
		url,
		allowPrivate,
		body,
		headers: signedHeaders(webhook, { id: messageId(message), body, atMs }),
	});
	const tookMs = Math.round(performance.now() - beganMs);
	const attempt = { webhook: id, sequence, atMs: Math.floor(store.now()), status, problem, dueAtMs: null };
	await store.transact(account.id, function* () {
		yield [insertMessages([message], atMs, { attempts: 1 })];
		yield* saveAttempts([attempt]);
	});
	return { id: messageId(message), url, status, problem, tookMs };
}
