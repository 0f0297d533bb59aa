import ipaddr from 'ipaddr.js';

type Ends = (bytes: readonly number[]) => ipaddr.IPv4[];

const at =
	(offset: number): Ends =>
	(bytes) => [new ipaddr.IPv4(bytes.slice(offset, offset + 4))];

/** Teredo contains its server, and the client with all bits inverted. */
const ofTeredo: Ends = (bytes) => [...at(4)(bytes), ...at(12)(bytes.map((byte) => byte ^ 0xff))];

/**
 * Networks of IPv6 from which packets go on to IPv4 addresses that are part of the address: translated or in a tunnel.
 * A network's own prefixes for translation (RFC 6052) cannot be told from other addresses.
 */
const toIpv4: readonly { readonly network: [ipaddr.IPv6, number]; readonly ends: Ends }[] = [
	// IPv4-compatible and IPv4-mapped (RFC 4291), IPv4-translated (RFC 2765), NAT64 (RFC 6052).
	...['::/96', '::ffff:0:0/96', '::ffff:0:0:0/96', '64:ff9b::/96'].map((text) => ({ text, ends: at(12) })),
	// 6to4 (RFC 3056), Teredo (RFC 4380).
	{ text: '2002::/16', ends: at(2) },
	{ text: '2001::/32', ends: ofTeredo },
].map(({ text, ends }) => ({ network: ipaddr.IPv6.parseCIDR(text), ends }));

/** All that is for the public internet so far. */
const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3');

/** Whether packets to an address end on the public internet: decided by where they go, however the address is written. */
export function isPublicAddress(text: string): boolean {
	const address = ipaddr.parse(text);
	if (address instanceof ipaddr.IPv4) return isUnicast(address);
	const bytes = address.toByteArray();
	const ends = toIpv4.find(({ network }) => address.match(network))?.ends(bytes);
	if (ends) return ends.every(isUnicast);
	return (
		address.match(globalUnicast) && isUnicast(address) && (!isIsatap(bytes) || at(12)(bytes).every(isUnicast))
	);
}

const isUnicast = (address: ipaddr.IPv4 | ipaddr.IPv6) => address.range() === 'unicast';

/** A tunnel to an IPv4 address, in whatever network (RFC 5214). */
function isIsatap(bytes: readonly number[]): boolean {
	return /^[02],0,94,254$/.test(bytes.slice(8, 12).join());
}
