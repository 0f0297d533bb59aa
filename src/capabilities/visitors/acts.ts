import { type ActPlace, act } from '../../kit/act.ts';
import { visitorId } from '../../kit/cli/flag-values.ts';
import type { ErasedCounts } from './store/erasing.ts';
import { eraseCustomerVisitors, eraseVisitor } from './store/erasure.ts';
import { rebuildAll } from './store/rebuilding.ts';

/** How much is erased, of what was counted before. */
const erasedRows = ({ hits, events, links }: ErasedCounts) => hits + events + links;
const erasing =
	({ onProgress }: ActPlace) =>
	(soFar: ErasedCounts) =>
		onProgress?.(erasedRows(soFar), 0);

const ofVisitors = { noun: 'visitor', right: 'operate' } as const;

/** The entry is written before, so that it is known even if this ends in between. The erasure forgets which visitor it was. */
export const eraseOneVisitor = act({
	...ofVisitors,
	verb: 'erase',
	done: 'visitor erased',
	summary: 'erase a visitor',
	takes: { vid: { flag: '<vid>', text: 'the visitor', parse: visitorId } },
	finish: async (place, { vid }) => {
		const { store, account } = place;
		return { aid: account.aid, ...(await eraseVisitor(store, account.id, vid, erasing(place))) };
	},
});

export const eraseOneCustomer = act({
	...ofVisitors,
	verb: 'erase-customer',
	done: 'customer erased',
	summary: 'erase all visitors of a customer',
	noCommand: "'visitor erase --cid' does it",
	takes: { cid: { flag: '<cid>', text: 'the customer id' } },
	finish: async (place, { cid }) => {
		const { store, account } = place;
		return { aid: account.aid, ...(await eraseCustomerVisitors(store, account.id, cid, erasing(place))) };
	},
});

export const rebuildProfiles = act({
	...ofVisitors,
	verb: 'rebuild',
	done: 'visitors rebuilt',
	summary: 'rebuild profiles from the log',
	noForm: 'it is needed after an upgrade that asks for it, or a manual repair, by who runs the server',
	takes: {},
	finish: async ({ store, account, onProgress }) => ({
		aid: account.aid,
		...(await rebuildAll(store, account.id, onProgress)),
	}),
});
