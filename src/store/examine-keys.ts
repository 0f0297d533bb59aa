import type { ApiKey } from './control.ts';
import type { Finding } from './store.ts';

/** Whether anybody can upload. */
export function examineKeys(keys: readonly ApiKey[]): Finding {
	const usable = keys.filter((key) => key.revokedAt === null).length;
	return {
		check: 'keys',
		ok: usable > 0,
		detail: usable > 0 ? `${usable} usable` : `none: nobody can upload; 'caskade key issue' makes one`,
	};
}
