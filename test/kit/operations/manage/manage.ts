import type { ServedAccount } from '../../../support.ts';

/** A key of the account's client that may manage. */
export async function manageKeyOf(
	{ client, planName, store, directory }: ServedAccount,
	scope: 'manage' | 'read' = 'manage',
): Promise<string> {
	const { key } = await store.control.issueKey(client, planName, { scope });
	await directory.refresh();
	return key;
}

export function ask({ url }: ServedAccount, key: string, act: string, body: unknown): Promise<Response> {
	return fetch(`${url}/manage/${act}`, {
		method: 'POST',
		headers: { 'x-api-key': key, 'content-type': 'application/json' },
		body: typeof body === 'string' ? body : JSON.stringify(body),
	});
}

export function askFor({ url }: ServedAccount, key: string, list: string): Promise<Response> {
	return fetch(`${url}/manage/${list}`, { headers: { 'x-api-key': key } });
}
