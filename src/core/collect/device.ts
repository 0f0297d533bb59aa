import bowser from 'bowser';
import { isbot } from 'isbot';
import { LRUCache } from 'lru-cache';

export type Device = 'desktop' | 'mobile' | 'tablet' | 'tv' | 'other';

/** Only this many characters of a user agent are parsed; real browsers send up to about 300. */
const maxCharacters = 512;
/**
 * Maximum number of cached user agents. A few browsers make most of the traffic, and parsing their strings costs more
 * than the rest of a hit.
 */
const maxRemembered = 2000;

/**
 * Detects the kind of device.
 * @param hints `mobile` is the header `sec-ch-ua-mobile`, for example `?1`
 */
export function deviceOf(userAgent: string | undefined, hints: { mobile?: string | undefined } = {}): Device {
	const device = readDevice(userAgent?.slice(0, maxCharacters) ?? '');
	const saysMobile = hints.mobile === '?1' && (device === 'desktop' || device === 'other');
	return saysMobile ? 'mobile' : device;
}

/** Whether the user agent names a program, or is missing: every browser sends one. */
export function isBot(userAgent: string | undefined): boolean {
	return !userAgent || readBot(userAgent.slice(0, maxCharacters));
}

/** Browser and system in words, for example `Firefox on Linux`, so that people recognise where they are signed in. */
export function agentInWords(userAgent: string | undefined): string {
	const text = userAgent?.slice(0, maxCharacters) ?? '';
	if (text === '') return 'an unknown browser';
	const { browser, os } = bowser.parse(text);
	return `${browser.name || 'an unknown browser'} on ${os.name || 'an unknown system'}`;
}

const readDevice = remember((userAgent): Device => {
	if (userAgent === '') return 'other';
	const type = bowser.getParser(userAgent, true).getPlatformType();
	return type === 'desktop' || type === 'mobile' || type === 'tablet' || type === 'tv' ? type : 'other';
});

const readBot = remember((userAgent) => isbot(userAgent));

/** Remembers what is read of user agents. */
export function remember<Value extends NonNullable<unknown>>(
	read: (userAgent: string) => Value,
): (userAgent: string) => Value {
	const known = new LRUCache<string, Value>({ max: maxRemembered });
	return (userAgent) => {
		const before = known.get(userAgent);
		if (before !== undefined) return before;
		const value = read(userAgent);
		known.set(userAgent, value);
		return value;
	};
}
