import { type ApiKey, type Client, isUsable } from './control/control-store.ts';
import type { Check } from './store.ts';

/** Whether anybody can upload. */
export function checkKeys(keys: readonly ApiKey[], clients: readonly Client[], nowMs: number): Check {
	const enabled = new Set(
		clients.filter(({ disabledAt }) => disabledAt === null).map(({ client }) => client),
	);
	const usable = keys.filter((key) => isUsable(key, nowMs) && enabled.has(key.client)).length;
	return {
		check: 'keys',
		ok: usable > 0,
		detail: usable > 0 ? `${usable} usable` : `none: nobody can upload; 'caskade key issue' makes one`,
	};
}
