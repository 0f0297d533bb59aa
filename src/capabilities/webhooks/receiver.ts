import { OperatorError } from '../../core/errors.ts';
import type { Webhook } from './domain/webhook.ts';

/** @throws OperatorError where messages may not be sent to the URL */
export async function checkReceiver({
	url: receiver,
	allowPrivate,
}: Pick<Webhook, 'url' | 'allowPrivate'>): Promise<void> {
	if (allowPrivate) return;
	if (!receiver.startsWith('https:'))
		throw new OperatorError(
			'--url must begin with https://, since messages are about people; --allow-private permits http:// for receivers in your own network.',
		);
	// The HTTP client is loaded where it is used: loading it takes other commands a fifth of their time.
	const { isPrivateHost } = await import('./send.ts');
	if (isPrivateHost(receiver))
		throw new OperatorError(
			'The address of --url is not public; --allow-private permits receivers in your own network.',
		);
}
