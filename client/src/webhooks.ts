/** A message failed verification and must not be trusted. */
export class WebhookVerificationError extends Error {
	override readonly name = 'WebhookVerificationError';
}

/** Maximum age of a message, and maximum difference between the clocks. */
const toleranceSeconds = 5 * 60;

/** `Headers` of any kind, because each library may bring its own, or an object like the one of Node. */
type HeaderSource =
	| { get(name: string): string | null }
	| Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * Verifies a message of Standard Webhooks 1.0.0.
 * @param rawBody the body as received, not parsed
 * @param secret `whsec_…`, or both secrets during a rotation
 * @returns the parsed message
 * @throws WebhookVerificationError, or TypeError if the body or a secret is of another type
 */
async function verify(
	rawBody: string | Uint8Array,
	headers: HeaderSource,
	secret: string | readonly string[],
): Promise<unknown> {
	const secrets = [secret].flat();
	if (!secrets.every((one) => typeof one === 'string' && one !== ''))
		throw new TypeError('secret must be a non-empty string');
	if (typeof rawBody !== 'string' && !ArrayBuffer.isView(rawBody))
		throw new TypeError('rawBody must be the body as received, a string or a Uint8Array, not a parsed one');
	const id = headerOf(headers, 'webhook-id');
	const timestamp = headerOf(headers, 'webhook-timestamp');
	const signatures = headerOf(headers, 'webhook-signature');
	const ageSeconds = Date.now() / 1000 - (/^\d{1,12}$/.test(timestamp) ? Number(timestamp) : Number.NaN);
	if (!(Math.abs(ageSeconds) <= toleranceSeconds))
		throw new WebhookVerificationError('webhook-timestamp is too old or in the future');
	const encoder = new TextEncoder();
	const body = typeof rawBody === 'string' ? encoder.encode(rawBody) : rawBody;
	const head = encoder.encode(`${id}.${timestamp}.`);
	const content = new Uint8Array(head.length + body.length);
	content.set(head);
	content.set(body, head.length);
	const known = signatures.split(' ').flatMap((signature) => {
		const [version, value = ''] = signature.split(',');
		return version === 'v1' ? [bytesOf(value)] : [];
	});
	for (const one of secrets) {
		const key = await crypto.subtle.importKey(
			'raw',
			bytesOf(one.replace(/^whsec_/, '')),
			{ name: 'HMAC', hash: 'SHA-256' },
			false,
			['verify'],
		);
		// Compares in constant time.
		for (const signature of known)
			if (await crypto.subtle.verify('HMAC', key, signature, content))
				return JSON.parse(new TextDecoder().decode(body));
	}
	throw new WebhookVerificationError('no signature matches');
}

export const webhooks = { verify };

function headerOf(headers: HeaderSource, name: string): string {
	const value =
		typeof headers.get === 'function'
			? headers.get(name)
			: Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
	if (typeof value !== 'string' || value === '') throw new WebhookVerificationError(`${name} is missing`);
	return value;
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
	try {
		return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
	} catch {
		throw new WebhookVerificationError('a secret or signature is not base64');
	}
}
