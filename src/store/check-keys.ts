import type { ApiKey, Client } from './control/control-store.ts';
import type { Check } from './store.ts';

/** Whether anybody can upload. */
export function checkKeys(keys: readonly ApiKey[], clients: readonly Client[]): Check {
	const enabled = new Set(
		clients.filter(({ disabledAt }) => disabledAt === null).map(({ client }) => client),
	);
	const usable = keys.filter((key) => key.revokedAt === null && enabled.has(key.client)).length;
	return {
		check: 'keys',
		ok: usable > 0,
		detail: usable > 0 ? `${usable} usable` : `none: nobody can upload; 'caskade key issue' makes one`,
	};
}
