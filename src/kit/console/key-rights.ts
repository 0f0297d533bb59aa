import { may } from '../person.ts';
import type { AccountRequest } from './page.ts';

/** A key is good for all accounts of its client, so it takes the right on each of them. */
export async function mayKeys({ store, account, person }: AccountRequest): Promise<boolean> {
	const accounts = await store.control.accounts();
	return accounts.every(({ aid, client }) => client !== account.client || may(person, aid, 'operate'));
}

export function notOnAll({ account }: AccountRequest): string {
	return `A key is good for all accounts of ${account.client}. You are not an operator of all of them; an administrator can issue keys.`;
}
