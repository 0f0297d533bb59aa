import { isIP } from 'node:net';

/** The trusted proxies: their number, or the networks that they are in. */
export type Proxies = number | readonly string[];

/** Maximum number of proxies in a row. Nobody has more, and each one costs time. */
export const maxHops = 10;

/** Whether a text is an address, or a network such as 10.0.0.0/8. */
export function isNetwork(text: string): boolean {
	const [, address = '', bits = '1'] = /^(.*?)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
	const most = { 4: 32, 6: 128 }[isIP(address)] ?? 0;
	return Number(bits) >= 1 && Number(bits) <= most;
}
