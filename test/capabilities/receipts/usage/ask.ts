import type { ServedAccount } from '../../../support.ts';

/** Requests the usage of the service's key like a client. */
export function askUsage(service: ServedAccount, headers: Record<string, string> = {}): Promise<Response> {
	return fetch(`${service.url}/usage`, { headers: { 'x-api-key': service.key, ...headers } });
}
