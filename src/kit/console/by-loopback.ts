import type { IncomingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Whether a client is on this machine, by its address. */
export function isLocal(address: string): boolean {
	return isIP(address) !== 0 && ipaddr.process(address).range() === 'loopback';
}

/** What a proxy adds. */
const forwardedHeaders = [
	'x-forwarded-for',
	'x-forwarded-proto',
	'x-forwarded-host',
	'forwarded',
	'via',
	'x-real-ip',
];
const privateRanges = ['loopback', 'private', 'uniqueLocal', 'linkLocal'];

/**
 * Whether a browser has named an address of its own machine, so that plain http has only gone to the port that a container
 * publishes there, or into a tunnel. Whoever forges the name gives away no password but their own.
 * @param peer address at the other end of the connection
 */
export function isByLoopback(peer: string, headers: IncomingHttpHeaders): boolean {
	if (forwardedHeaders.some((name) => headers[name] !== undefined)) return false;
	if (isIP(peer) === 0 || !privateRanges.includes(ipaddr.process(peer).range())) return false;
	const named = URL.parse(`http://${headers.host}`)?.hostname.replace(/^\[|\]$/g, '') ?? '';
	return named === 'localhost' || isLocal(named);
}
