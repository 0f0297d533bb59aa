import bowser from 'bowser';
import { isbot } from 'isbot';

export type Device = 'desktop' | 'mobile' | 'tablet' | 'tv' | 'other';

/** What is read of a user agent string; the longest of real browsers have about 300. */
const mostCharacters = 512;
/** Few browsers make most of the traffic, and reading one of their strings takes longer than the rest of a hit. */
const mostRemembered = 2000;

/**
 * The kind of device.
 * @param hints `mobile` is the header `sec-ch-ua-mobile`, as `?1`
 */
export function deviceOf(userAgent: string | undefined, hints: { mobile?: string | undefined } = {}): Device {
	const device = readDevice(userAgent?.slice(0, mostCharacters) ?? '');
	const saysMobile = hints.mobile === '?1' && (device === 'desktop' || device === 'other');
	return saysMobile ? 'mobile' : device;
}

/** Whether it says that it is a program; every browser sends a user agent. */
export function isBot(userAgent: string | undefined): boolean {
	return !userAgent || readBot(userAgent.slice(0, mostCharacters));
}

const readDevice = remember((userAgent): Device => {
	if (userAgent === '') return 'other';
	const type = bowser.getParser(userAgent, true).getPlatformType();
	return type === 'desktop' || type === 'mobile' || type === 'tablet' || type === 'tv' ? type : 'other';
});

const readBot = remember((userAgent) => isbot(userAgent));

/** The oldest makes room: a browser that is still in use is soon read again. */
function remember<Value>(read: (userAgent: string) => Value): (userAgent: string) => Value {
	const known = new Map<string, Value>();
	return (userAgent) => {
		const before = known.get(userAgent);
		if (before !== undefined) return before;
		const value = read(userAgent);
		if (known.size >= mostRemembered) known.delete(known.keys().next().value as string);
		known.set(userAgent, value);
		return value;
	};
}
