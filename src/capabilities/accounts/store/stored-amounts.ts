import { moneyOf } from '../../../core/format/money.ts';
import { type Reading, select } from '../../../core/store/steps.ts';
import type { Store } from '../../../core/store/store.ts';

/**
 * What another currency would make of the amounts that an account has stored: they stay the numbers that they are.
 * @returns a sentence; undefined where nothing changes its meaning
 */
export async function relabelledAmounts(
	store: Store,
	account: { readonly id: number; readonly aid: string; readonly currency: string },
	currency: string,
): Promise<string | undefined> {
	if (currency === account.currency) return undefined;
	const amount = await store.read(account.id, anyAmount());
	if (amount === undefined) return undefined;
	const [before, after] = [account.currency, currency].map((code) => moneyOf(code)(amount));
	return `${account.aid} has amounts stored, and they would not be converted: ${amount}, which is ${before}, would be ${after}.`;
}

function* anyAmount(): Reading<number | undefined> {
	const [paid] = yield* select`rvn FROM @subscription_event WHERE rvn <> 0 LIMIT 1 /* any revenue */`;
	if (paid) return Number(paid.rvn);
	const [spent] = yield* select`pence FROM @spend WHERE pence <> 0 LIMIT 1 /* any spending */`;
	return spent && Number(spent.pence);
}
