import { OperatorError } from '../errors.ts';
import type { Account } from '../store/control/control-store.ts';
import type { Store } from '../store/store.ts';
import { consideringSegment } from './shop.ts';

export const demoClient = 'demo';
export const demoAid = 'c-a-demo-local';

/** Roomier than the standard plan in one thing: somebody who pastes a line twice is not refused. */
const demoPlan = {
	name: 'demo',
	ratePerSecond: 10,
	burst: 10,
	quotaPerMonth: 1_000_000,
	timeoutMs: 5000,
	maxEvents: 30,
};

export interface DemoAccount {
	readonly account: Account;
	/** Where one was issued now; it is not seen again. */
	readonly key: string | undefined;
}

/**
 * The account to try the service with; where it is not there it is made, with client, plan, key and a segment.
 * @throws OperatorError where the account is a client's own and has data: made-up visitors could not be told from real ones
 */
export async function openDemoAccount(store: Store, aid: string): Promise<DemoAccount> {
	const { control } = store;
	const known = (await control.accounts()).find((account) => account.aid === aid);
	if (known && known.client !== demoClient && (await hasData(store, known)))
		throw new OperatorError(
			`The account ${aid} has visitors or events of its own, and the demo's could not be told from them; name another account, which is made if it is not there.`,
		);
	const account =
		known ??
		(await control.createAccount({ aid, client: demoClient, origins: [] }, (id) =>
			store.createAccountDatabase(id),
		));
	const segments = await control.segments(account.id);
	if (!segments.some(({ id }) => id === consideringSegment.id))
		await control.createSegment(account.id, consideringSegment);
	return { account, key: account.client === demoClient ? await ensureKey(store) : undefined };
}

async function hasData(store: Store, { id }: Account): Promise<boolean> {
	return store.read(
		id,
		async (reader) => (await reader.countVisitors()) + (await reader.countSubscriptionEvents()) > 0,
	);
}

/** Issues the client's key, where it has none. */
async function ensureKey({ control }: Store): Promise<string | undefined> {
	const keys = await control.keys();
	if (keys.some(({ client, revokedAt }) => client === demoClient && revokedAt === null)) return undefined;
	const plans = await control.plans();
	if (!plans.some(({ name }) => name === demoPlan.name)) await control.createPlan(demoPlan);
	return (await control.issueKey(demoClient, demoPlan.name)).key;
}

/** A command line that uploads an event to the account. */
export function uploadLine(url: string, aid: string, key: string): string {
	const body = JSON.stringify({
		aid,
		data: [{ tid: 'order-1001', subid: 'sub-77', cid: 'customer-42', evt: 'newsletter', rvn: 499 }],
	});
	const flags = url.startsWith('https:') ? '-i -k' : '-i';
	return `curl ${flags} ${url}/subscription -H 'x-api-key: ${key}' -H 'content-type: application/json' -d '${body}'`;
}
