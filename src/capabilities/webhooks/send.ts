import { type LookupAddress, lookup } from 'node:dns';
import type { Agent, RequestOptions } from 'node:http';
import { request as requestHttps } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { reasonOf } from '../../core/errors.ts';
import { request as requestHttp } from '../../core/node-http.ts';
import { isPublicAddress } from './domain/public-address.ts';

/** Time limit of a whole request: name resolution, connection, TLS and answer. */
export const deliveryTimeoutMs = 10_000;
/** Longer answers are not read completely. */
const maxAnswerBytes = 16_384;

export interface DeliveryRequest {
	readonly url: string;
	readonly allowPrivate: boolean;
	readonly headers: Readonly<Record<string, string>>;
	/** JSON. */
	readonly body: string;
	readonly agent?: Agent;
	readonly timeoutMs?: number;
}

export interface DeliveryAnswer {
	/** Null if there was no answer. */
	readonly status: number | null;
	/** The reason why the message does not count as delivered; null if it does. */
	readonly problem: string | null;
	readonly retryAfter?: string | undefined;
}

/** Whether a URL contains an address of a private network or of this machine instead of a name. */
export function isPrivateHost(url: string): boolean {
	const host = new URL(url).hostname.replace(/^\[|\]$/g, '');
	return isIP(host) > 0 && !isPublicAddress(host);
}

const privateProblem = 'the address is not public';

/**
 * Resolves a name once, so that the connection goes to the checked address. If there are several, only public ones
 * remain.
 * @param resolve for tests
 */
export function publicLookup(resolve: typeof lookup = lookup): LookupFunction {
	return (hostname, options, callback) => {
		resolve(hostname, { ...options, all: true }, (error, addresses: LookupAddress[]) => {
			const allowed = error ? [] : addresses.filter(({ address }) => isPublicAddress(address));
			const [first] = allowed;
			if (!first) callback(error ?? new Error(privateProblem), '', 0);
			else if (options.all) callback(null, allowed);
			else callback(null, first.address, first.family);
		});
	};
}

const checkedLookup = publicLookup();

/**
 * Sends a message once. Redirects are not followed. Never rejects.
 * @param find finds the addresses of names, for tests
 */
export function send(delivery: DeliveryRequest, find = checkedLookup): Promise<DeliveryAnswer> {
	const { allowPrivate, headers, body, agent, timeoutMs = deliveryTimeoutMs } = delivery;
	const url = new URL(delivery.url);
	if (!allowPrivate && isPrivateHost(delivery.url))
		return Promise.resolve({ status: null, problem: privateProblem });
	const options: RequestOptions = {
		method: 'POST',
		headers: {
			'content-type': 'application/json',
			'content-length': Buffer.byteLength(body),
			'user-agent': 'caskade-webhooks',
			...headers,
		},
		...(agent && { agent }),
		...(!allowPrivate && { lookup: find }),
	};
	return new Promise((resolve) => {
		const request = (url.protocol === 'https:' ? requestHttps : requestHttp)(url, options);
		const timer = setTimeout(
			() => request.destroy(new Error(`no answer within ${timeoutMs / 1000} s`)),
			timeoutMs,
		);
		request.on('close', () => clearTimeout(timer));
		request.on('error', (error) => resolve({ status: null, problem: problemOf(error) }));
		request.on('response', (response) => {
			const { statusCode: status = 0 } = response;
			resolve({
				status,
				problem: status >= 200 && status < 300 ? null : `answered ${status}`,
				retryAfter: response.headers['retry-after'],
			});
			// The rest is read only so that the connection can be reused.
			let bytes = 0;
			response.on('data', (chunk: Buffer) => {
				bytes += chunk.length;
				if (bytes > maxAnswerBytes) request.destroy();
			});
			response.on('error', () => {});
		});
		request.end(body);
	});
}

/** The codes of a certificate that no authority vouches for that Node trusts. */
const untrusted = [
	...['DEPTH_ZERO_SELF_SIGNED_CERT', 'SELF_SIGNED_CERT_IN_CHAIN', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
	...['UNABLE_TO_GET_ISSUER_CERT', 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY'],
];

/** A short reason that contains nothing from the request. */
function problemOf(error: unknown): string {
	const { code } = error as NodeJS.ErrnoException;
	if (untrusted.includes(`${code}`))
		return `the certificate is not trusted (${code}): NODE_EXTRA_CA_CERTS names a file of further authorities`;
	const reason = code === undefined ? reasonOf(error) : `${code}`;
	return reason.slice(0, 200);
}
