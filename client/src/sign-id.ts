/**
 * Signs an id for a page, on a server: `customer-42~` and 64 hexadecimal digits of HMAC-SHA-256. The page shows it instead of the
 * id.
 * @param secret of the account, as `caskade account identity-secret` shows it
 * @param kind what the id is: of a customer or of a transaction
 */
export async function signId(secret: string, kind: 'cid' | 'tid', id: string): Promise<string> {
	const encoder = new TextEncoder();
	const algorithm = { name: 'HMAC', hash: 'SHA-256' };
	const key = await crypto.subtle.importKey('raw', encoder.encode(secret), algorithm, false, ['sign']);
	const signature = await crypto.subtle.sign('HMAC', key, encoder.encode(`${kind}:${id}`));
	const digits = Array.from(new Uint8Array(signature), (byte) => byte.toString(16).padStart(2, '0'));
	return `${id}~${digits.join('')}`;
}
