import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import proxyAddr from '@fastify/proxy-addr';
import ipaddr from 'ipaddr.js';

/** Whose word on a client's address is believed: so many proxies in a row, or all that are in these networks. */
export type Proxies = number | readonly string[];

/** Proxies in a row; a longer way is nobody's, and each of its stations would cost. */
export const maxHops = 10;

/**
 * Whether the address is one of our proxies.
 * @param hop 0 for whoever has opened the connection, 1 for whom that one names, and so on
 */
export type IsProxy = (address: string, hop: number) => boolean;

/**
 * Not a number handed to the framework: that trusts nobody then.
 * @throws where a network is none
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

/** Why a request may count as somebody else's, for the operator. */
export const proxyProblems = {
	unnamed:
		'a hit came through a proxy that names no client in x-forwarded-for: all visitors behind it share the budget of one address; let the proxy set the header',
	unbelieved:
		'a hit has x-forwarded-for but comes from no proxy that --behind-proxy names: it counts by the address that it comes from; if that is a proxy of yours, name it',
} as const;

export type ProxyProblem = keyof typeof proxyProblems;

export interface HitClient {
	/** Undefined where even the connection has none any more. */
	readonly address: string | undefined;
	readonly problem?: ProxyProblem;
}

/**
 * Who asks: the rightmost in `x-forwarded-for` that is no proxy of ours, since each proxy adds whom it sees at the right
 * and what is further left may be anybody's invention. Where that is no address, the proxy next to it counts.
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

/** As `[2001:db8::1]:4711` and `203.0.113.7:4711`, which some proxies write. */
const withPort = /^(?:\[([0-9A-Fa-f:.%\w-]{2,80})\]|([\d.]{7,15}))(?::\d{1,5})?$/;
/** An IPv6 address and the name of its zone. */
const maxCharacters = 100;

/** The address alone; undefined where the text is none. */
function addressOf(text: string | undefined): string | undefined {
	if (text === undefined || text.length > maxCharacters) return undefined;
	const [, bracketed, dotted] = withPort.exec(text) ?? [];
	const address = bracketed ?? dotted ?? text;
	return isIP(address) === 0 ? undefined : address;
}

/**
 * What counts as one client: an IPv4 address, or the IPv6 network of 64 bits, for whoever has one address of it has all
 * of them. IPv4 within IPv6 is IPv4. Whatever is no address is one client.
 */
export function networkOf(address: string | undefined): string {
	if (address === undefined || isIP(address) === 0) return 'unknown';
	const parsed = ipaddr.process(address);
	if (parsed instanceof ipaddr.IPv4) return parsed.toString();
	// A network of 64 bits that holds all of IPv4 (RFC 6052).
	if (parsed.range() === 'rfc6052') return parsed.toNormalizedString();
	return parsed.parts
		.slice(0, 4)
		.map((part) => part.toString(16))
		.join(':');
}
