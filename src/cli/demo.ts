import type { RunningServer } from '../server.ts';
import type { Store } from '../store/store.ts';

const client = 'demo';
const aid = 'c-a-demo-local';

/**
 * Makes a client, an account, a plan and a key to try the service with.
 * @returns a text with a curl line that the running server answers with 201
 */
export async function createDemo(store: Store, server: RunningServer): Promise<string> {
	await store.control.createAccount({ aid, client, origins: [] }, (id) => store.createAccountDatabase(id));
	const plan = await store.control.createPlan({
		name: 'demo',
		ratePerSecond: 10,
		burst: 10,
		quotaPerMonth: 1_000_000,
		timeoutMs: 5000,
		maxEvents: 30,
	});
	const { key } = await store.control.issueKey(client, plan.name);
	await server.directory.refresh();
	const body = JSON.stringify({
		aid,
		data: [{ tid: 'order-1001', subid: 'sub-77', cid: 'customer-42', evt: 'newsletter', rvn: 499 }],
	});
	return `
There were no clients yet, so there is now a client '${client}' with the account ${aid}.
Upload an event to it from another terminal (the key is shown this once):

curl -i ${server.url.startsWith('https:') ? '-k ' : ''}${server.url}/subscription -H 'x-api-key: ${key}' -H 'content-type: application/json' -d '${body}'
`;
}
