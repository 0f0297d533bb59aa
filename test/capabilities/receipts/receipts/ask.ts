import type { ServedAccount } from '../../../support.ts';

/** Requests receipts like a client. */
export function askReceipts(
	service: ServedAccount,
	body: unknown,
	headers: Record<string, string> = {},
): Promise<Response> {
	return fetch(`${service.url}/subscription/receipts`, {
		method: 'POST',
		headers: { 'content-type': 'application/json', 'x-api-key': service.key, ...headers },
		body: typeof body === 'string' ? body : JSON.stringify(body),
	});
}
