import type { OpenStore } from '../../../src/core/store/store.ts';

export class Killed extends Error {}

/** A store as a process has it that is killed after so many transactions. */
export function killedBefore(store: OpenStore, transactions: number): OpenStore {
	let done = 0;
	return new Proxy(store, {
		get(target, name) {
			if (name === 'transact' && done++ >= transactions) throw new Killed();
			const value = target[name as keyof OpenStore];
			return typeof value === 'function' ? value.bind(target) : value;
		},
	});
}
