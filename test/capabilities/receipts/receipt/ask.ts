import type { ServedAccount } from '../../../support.ts';

/** Requests the receipt of an event like a client. */
export function askReceipt(
	service: ServedAccount,
	tid: string,
	{ aid = service.aid, headers = {} }: { aid?: string; headers?: Record<string, string> } = {},
): Promise<Response> {
	const url = `${service.url}/subscription/${encodeURIComponent(tid)}?aid=${encodeURIComponent(aid)}`;
	return fetch(url, { headers: { 'x-api-key': service.key, ...headers } });
}
