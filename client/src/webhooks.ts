/** A message that is not to be trusted. */
export class WebhookVerificationError extends Error {
	override readonly name = 'WebhookVerificationError';
}

/** How far the clocks of sender and receiver may be apart, or a message under way. */
const toleranceSeconds = 5 * 60;

type HeaderSource = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * Checks a message of Standard Webhooks 1.0.0.
 * @param rawBody as it arrived, before anything has parsed it
 * @param secret as `whsec_…`; while it is being changed, both
 * @returns the message
 * @throws WebhookVerificationError
 */
async function verify(
	rawBody: string | Uint8Array,
	headers: HeaderSource,
	secret: string | readonly string[],
): Promise<unknown> {
	const id = headerOf(headers, 'webhook-id');
	const timestamp = headerOf(headers, 'webhook-timestamp');
	const signatures = headerOf(headers, 'webhook-signature');
	const ageSeconds = Date.now() / 1000 - (/^\d{1,12}$/.test(timestamp) ? Number(timestamp) : Number.NaN);
	if (!(Math.abs(ageSeconds) <= toleranceSeconds))
		throw new WebhookVerificationError('webhook-timestamp is not of now');
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
	for (const one of [secret].flat()) {
		const key = await crypto.subtle.importKey(
			'raw',
			bytesOf(one.replace(/^whsec_/, '')),
			{ name: 'HMAC', hash: 'SHA-256' },
			false,
			['verify'],
		);
		// Takes the same time for every signature.
		for (const signature of known)
			if (await crypto.subtle.verify('HMAC', key, signature, content))
				return JSON.parse(new TextDecoder().decode(body));
	}
	throw new WebhookVerificationError('no signature fits');
}

export const webhooks = { verify };

function headerOf(headers: HeaderSource, name: string): string {
	const value =
		headers instanceof Headers
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
