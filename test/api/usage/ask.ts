import type { TestService } from '../../support.ts';

/** Asks for the usage of the service's key as a client does. */
export function askUsage(service: TestService, headers: Record<string, string> = {}): Promise<Response> {
	return fetch(`${service.url}/usage`, { headers: { 'x-api-key': service.key, ...headers } });
}
