import { OperatorError } from '../../core/errors.ts';
import { countRows } from '../../core/store/account/reading/rows.ts';
import { countVisitors } from '../../core/store/account/reading/visitors.ts';
import { type Account, isUsable } from '../../core/store/control/control-store.ts';
import type { Maintenance } from '../../core/store/maintenance.ts';
import type { Store } from '../../core/store/store.ts';
import type { Grant } from '../../kit/person.ts';
import { newLoginLink } from '../people/access/sign-in.ts';
import { consideringSegment } from './shop.ts';

const demoClient = 'demo';
export const demoAid = 'c-a-demo-local';

/** The standard plan, but with a burst, so that pasting a line twice is not refused. */
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
	/** The key, if it was issued just now. It is not shown again. */
	readonly key: string | undefined;
}

/**
 * Opens the demo account. Creates it, with client, plan, key and a segment, if it does not exist.
 * @throws OperatorError where the account belongs to a client and has data, because made-up visitors could not be told
 * from real ones
 */
export async function openDemoAccount(store: Store & Maintenance, aid: string): Promise<DemoAccount> {
	const { control } = store;
	const known = (await control.accounts()).find((account) => account.aid === aid);
	if (known && known.client !== demoClient && (await hasData(store, known)))
		throw new OperatorError(
			`The account ${aid} has visitors or events of its own, which could not be distinguished from those of the demo. Name another account; it is created if it does not exist.`,
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

export const demoPerson = 'demo@example.com';

/**
 * A link with which somebody who tries the service out signs in to the console once: an administrator, where the demo
 * account is the only one.
 * @param consoleUrl where people reach the console, without a path
 * @returns undefined where there is no demo account
 */
export async function demoLink({ control }: Store, consoleUrl: string): Promise<string | undefined> {
	const accounts = await control.accounts();
	if (!accounts.some(({ aid }) => aid === demoAid)) return undefined;
	const known = (await control.people.list()).find(({ email }) => email === demoPerson);
	const grant: Grant =
		accounts.length === 1 ? { aid: null, role: 'admin' } : { aid: demoAid, role: 'operator' };
	const person = known ?? (await control.people.create(demoPerson, [grant]));
	return (await newLoginLink(control, person, consoleUrl)).link;
}

async function hasData(store: Store, { id }: Account): Promise<boolean> {
	return (
		(await store.read(id, countVisitors())) > 0 || (await store.read(id, countRows('subscription_event'))) > 0
	);
}

/** Issues a key for the client if it has none. */
async function ensureKey({ control, now }: Store): Promise<string | undefined> {
	const keys = await control.keys(demoClient);
	if (keys.some((key) => isUsable(key, now()))) return undefined;
	const plans = await control.plans();
	if (!plans.some(({ name }) => name === demoPlan.name)) await control.createPlan(demoPlan);
	return (await control.issueKey(demoClient, demoPlan.name)).key;
}

/** A shell command that uploads an event to the account. */
export function uploadLine(url: string, aid: string, key: string): string {
	const body = JSON.stringify({
		aid,
		data: [{ tid: 'order-1001', subid: 'sub-77', cid: 'customer-42', evt: 'newsletter', rvn: 499 }],
	});
	const flags = url.startsWith('https:') ? '-i -k' : '-i';
	return `curl ${flags} ${url}/subscription -H 'x-api-key: ${key}' -H 'content-type: application/json' -d '${body}'`;
}
