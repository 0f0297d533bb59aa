import { OperatorError } from '../../core/errors.ts';
import type { KnownAccount } from '../../core/store/control/control-store.ts';
import type { Store } from '../../core/store/store.ts';

/** An account as servers know it. @throws OperatorError where it is not in use */
export async function knownAccount({ control }: Pick<Store, 'control'>, aid: string): Promise<KnownAccount> {
	const account = (await control.accessSnapshot()).accounts.get(aid);
	if (!account) throw new OperatorError(`The account ${aid} is disabled, or its client is.`);
	return account;
}
