import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** A list of networks. */
export class Networks {
	/** First and last addresses of the networks, sorted and merged. */
	readonly #firsts: readonly bigint[];
	readonly #lasts: readonly bigint[];

	/**
	 * @param text one network or address per line, for example `10.0.0.0/8`; `#` starts a comment
	 * @throws RangeError that names the first invalid line
	 */
	constructor(text: string) {
		const ranges = text.split('\n').flatMap((line, index) => {
			const network = line.replace(/#.*/, '').trim();
			if (network === '') return [];
			const range = rangeOf(network);
			if (!range) throw new RangeError(`line ${index + 1} is not a network such as 10.0.0.0/8 or fd00::/8`);
			return [range];
		});
		ranges.sort(([a], [b]) => (a < b ? -1 : Number(a > b)));
		const [firsts, lasts]: [bigint[], bigint[]] = [[], []];
		for (const [first, last] of ranges) {
			const before = lasts.at(-1);
			if (before === undefined || first > before + 1n) {
				firsts.push(first);
				lasts.push(last);
			} else if (last > before) lasts[lasts.length - 1] = last;
		}
		this.#firsts = firsts;
		this.#lasts = lasts;
	}

	/** Whether an address is in one of the networks. A binary search, because lists of data centres are long. */
	has(address: string): boolean {
		const number = numberOf(ipaddr.process(address));
		let [low, high] = [0, this.#firsts.length];
		while (low < high) {
			const middle = (low + high) >>> 1;
			if ((this.#firsts[middle] as bigint) <= number) low = middle + 1;
			else high = middle;
		}
		return low > 0 && number <= (this.#lasts[low - 1] as bigint);
	}
}

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** IPv4 addresses are mapped to IPv6, so that both share one order. */
function numberOf(address: Address): bigint {
	const wide = address instanceof ipaddr.IPv4 ? address.toIPv4MappedAddress() : address;
	return wide.toByteArray().reduce((number, byte) => number * 256n + BigInt(byte), 0n);
}

function rangeOf(network: string): [first: bigint, last: bigint] | null {
	const [, text = '', length] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(network) ?? [];
	const bits = isIP(text) === 4 ? 32 : 128;
	if (isIP(text) === 0 || text.includes('%') || Number(length ?? 0) > bits) return null;
	const size = 1n << BigInt(bits - Number(length ?? bits));
	const number = numberOf(ipaddr.parse(text));
	const first = number - (number % size);
	return [first, first + size - 1n];
}
