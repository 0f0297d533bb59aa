import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import proxyAddr from '@fastify/proxy-addr';
import ipaddr from 'ipaddr.js';
import { maxHops, type Proxies } from './proxies.ts';

/**
 * Whether the address is a trusted proxy.
 * @param hop 0 for the peer of the connection, 1 for the address that it reports, and so on
 */
export type IsProxy = (address: string, hop: number) => boolean;

/**
 * A function, because the framework trusts no proxy when it is given a number.
 * @throws where a network is invalid
 */
export function isProxyOf(proxies: Proxies): IsProxy {
	if (typeof proxies === 'number') return (_address, hop) => hop < proxies;
	const isInside = proxyAddr.compile([...proxies]);
	return (text, hop) => {
		if (hop >= maxHops) return false;
		const address = addressOf(text);
		return address !== undefined && isInside(address, hop);
	};
}

/** Reasons why a client's address may be wrong, for the operator. */
export const proxyProblems = {
	unnamed:
		'a hit came through a proxy that names no client in x-forwarded-for: all visitors behind it share the budget of one address; let the proxy set the header',
	unbelieved:
		'a hit has x-forwarded-for but comes from no proxy that --behind-proxy names: it counts against the address that it comes from; if that is your proxy, name it',
} as const;

export type ProxyProblem = keyof typeof proxyProblems;

export interface HitClient {
	/** Undefined where the connection is already closed. */
	readonly address: string | undefined;
	readonly problem?: ProxyProblem;
}

/**
 * The client's address: the rightmost entry of `x-forwarded-for` that is not a trusted proxy. Each proxy appends the peer
 * it sees, and anyone can forge the entries further left. Where that entry is not an address, the proxy that reported it
 * counts.
 */
export function clientOf(request: IncomingMessage, isProxy: IsProxy | undefined): HitClient {
	const peer = addressOf(request.socket.remoteAddress);
	const says = (request.headers['x-forwarded-for'] ?? '') !== '';
	if (!isProxy || peer === undefined || !isProxy(peer, 0))
		return { address: peer, ...(says && { problem: 'unbelieved' }) };
	for (const text of proxyAddr.all(request, isProxy).slice(1).reverse()) {
		const address = addressOf(text);
		if (address !== undefined) return { address };
	}
	return { address: peer, problem: 'unnamed' };
}

/** Some proxies append the port: `[2001:db8::1]:4711`, `203.0.113.7:4711`. */
const withPort = /^(?:\[([0-9A-Fa-f:.%\w-]{2,80})\]|([\d.]{7,15}))(?::\d{1,5})?$/;
/** Enough for an IPv6 address with a zone. */
const maxCharacters = 100;

/** The address without a port; undefined where the text is not an address. */
function addressOf(text: string | undefined): string | undefined {
	if (text === undefined || text.length > maxCharacters) return undefined;
	const [, bracketed, dotted] = withPort.exec(text) ?? [];
	const address = bracketed ?? dotted ?? text;
	return isIP(address) === 0 ? undefined : address;
}

/**
 * The unit that limits apply to: an IPv4 address, or an IPv6 /64, because one subscriber usually has all of it.
 * IPv4-mapped addresses count as IPv4. Everything that is not an address counts as one client.
 */
export function networkOf(address: string | undefined): string {
	if (address === undefined) return 'unknown';
	const version = isIP(address);
	if (version === 0) return 'unknown';
	// There is one way to write it.
	if (version === 4) return address;
	const parsed = ipaddr.process(address);
	if (parsed instanceof ipaddr.IPv4) return parsed.toString();
	// This /64 contains all of IPv4 (RFC 6052).
	if (parsed.range() === 'rfc6052') return parsed.toNormalizedString();
	return parsed.parts
		.slice(0, 4)
		.map((part) => part.toString(16))
		.join(':');
}
