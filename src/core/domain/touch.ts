import { minuteMs } from '../durations.ts';
import type { HitRecord } from './stored-hit.ts';

/** An arrival that may be credited with a subscription. */
export interface Touch {
	/** Milliseconds since 1970. */
	readonly atMs: number;
	readonly channel: string;
	/** `utm_source`, else the site that a list knows, else the referrer's host without `www.`; null where none is known. */
	readonly source: string | null;
	/** `utm_medium`. */
	readonly medium: string | null;
	/** `utm_campaign`. */
	readonly campaign: string | null;
	/** The landing page. */
	readonly landing: string | null;
}

/** Properties that reports can group touches by and choose them by, and what sentences call them. */
export const touchNames = {
	channel: 'channel',
	source: 'source',
	medium: 'medium',
	campaign: 'campaign',
	landing: 'landing page',
} as const satisfies Partial<Record<keyof Touch, string>>;
export type TouchDimension = keyof typeof touchNames;
export const touchDimensions = Object.keys(touchNames) as TouchDimension[];

/** Properties that one touch must have, all of them. */
export type WantedTouch = readonly (readonly [TouchDimension, string])[];

export function wantedTouch(wanted: Readonly<Record<TouchDimension, string | null>>): WantedTouch {
	return touchDimensions.flatMap((name) => {
		const value = wanted[name];
		return value === null ? [] : [[name, value] as const];
	});
}

/** Whether a touch has the properties that are wanted. */
export function isWanted(touch: Omit<Touch, 'atMs'>, wanted: WantedTouch): boolean {
	return wanted.every(([name, value]) => touch[name] === value);
}

/**
 * The touch of a hit: null unless the hit is the first of its visit or arrives from a campaign or another site. Links
 * within the site are never a touch, nor is a hit that tells nothing.
 */
export function touchOf(
	{ atMs, body }: { readonly atMs: number; readonly body: HitRecord },
	isFirstOfVisit: boolean,
): Touch | null {
	const { channel, page } = body;
	// Of a page that was open for long, and asks again for a cask.
	if (body.url === null && body.referrer === null && body.cid === null && body.events.length === 0)
		return null;
	if (channel === 'internal' || ((channel === 'direct' || body.isByApp) && !isFirstOfVisit)) return null;
	const campaign = body.url?.includes('utm_') ? URL.parse(body.url)?.searchParams : undefined;
	const named = (parameter: string) => campaign?.get(parameter)?.trim().toLowerCase() || null;
	return {
		atMs,
		channel,
		source: named('utm_source') ?? body.source ?? hostOf(body.referrer),
		medium: named('utm_medium'),
		campaign: named('utm_campaign'),
		landing: page,
	};
}

/** The host of a URL, without `www.`; null where there is none. */
export function hostOf(url: string | null): string | null {
	const host = url === null ? undefined : URL.parse(url)?.hostname;
	return host ? host.replace(/^www\./, '') : null;
}

/**
 * Equal touches of a visitor that are closer together than this are one arrival: a page may send several hits, or be loaded
 * again.
 */
export const samePageMs = 30 * minuteMs;

/** Payment sites and their subdomains. A visitor who returns from one did not arrive through it. */
export const paymentProviders: readonly string[] = [
	...[
		'2checkout.com',
		'3dsecure.io',
		'adyen.com',
		'affirm.com',
		'afterpay.com',
		'arcot.com',
		'authorize.net',
	],
	...['barclaycard.co.uk', 'braintreegateway.com', 'cardinalcommerce.com', 'checkout.com', 'clearpay.co.uk'],
	...['elavon.com', 'global-e.com', 'gocardless.com', 'klarna.com', 'mollie.com', 'multisafepay.com'],
	...['netaxept.no', 'opayo.co.uk', 'pay.amazon.co.uk', 'pay.amazon.com', 'pay.apple.com', 'pay.google.com'],
	...['payments-amazon.com', 'paypal.com', 'paysafe.com', 'payu.com', 'rsa3dsauth.com', 'sagepay.com'],
	...['securetrading.net', 'sofort.com', 'squareup.com', 'stripe.com', 'truelayer.com', 'worldpay.com'],
];

/** The payment sites that an account knows: those of the list, and its own. */
export function paymentSitesOf(account: {
	readonly paymentProviders: readonly string[];
}): ReadonlySet<string> {
	return new Set([...paymentProviders, ...account.paymentProviders]);
}

/** Whether a touch comes from a payment provider or one of its subdomains. A campaign never does. */
export function isFromPayment(
	{ source, medium, campaign }: Pick<Touch, 'source' | 'medium' | 'campaign'>,
	providers: ReadonlySet<string>,
): boolean {
	if (source === null || medium !== null || campaign !== null) return false;
	for (let host = source; host !== ''; host = host.slice(host.indexOf('.') + 1 || host.length))
		if (providers.has(host)) return true;
	return false;
}
