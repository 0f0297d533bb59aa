import type { TestService } from '../../support.ts';

/** Asks for the receipt of an event as a client does. */
export function askReceipt(
	service: TestService,
	tid: string,
	{ aid = service.aid, headers = {} }: { aid?: string; headers?: Record<string, string> } = {},
): Promise<Response> {
	const url = `${service.url}/subscription/${encodeURIComponent(tid)}?aid=${encodeURIComponent(aid)}`;
	return fetch(url, { headers: { 'x-api-key': service.key, ...headers } });
}
