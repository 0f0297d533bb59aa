import type { SubscriptionEvent } from '../../core/domain/subscription-event.ts';
import { dayMs, hourMs, minuteMs } from '../../core/durations.ts';
import { computers, direct, email, phones, type Source, sources } from './audience.ts';
import type { Chance } from './chance.ts';
import type { DemoEntry, DemoHit } from './entry.ts';
import { nextActiveMs } from './rhythm.ts';
import { monthPence, type ShopPage, shopPages, yearPence } from './shop.ts';

const secondMs = 1000;

const maxVisits = 25;
const maxPages = 12;
const maxReadingMs = 15 * minuteMs;
/** Longer than the visit timeout, so that the next hit starts a new visit. */
const minBreakMs = 45 * minuteMs;

/** When the shop welcomes visitors who come back, from a moment to another. */
export interface Welcomes {
	readonly fromMs: number;
	readonly toMs: number;
}

/** What a welcome adds to the log odds of an order: the true effect of the demo's experiment. */
const welcomed = 2;

interface StoryOf {
	readonly visitor: number;
	/** Identifies the run in all ids. */
	readonly run: string;
	readonly shop: string;
	/** When this visitor is welcomed. */
	readonly welcomes?: Welcomes | undefined;
}

/** Simulates one visitor of the shop from the first visit on. Their intent shows only in their actions. */
export class VisitorStory {
	readonly #chance: Chance;
	readonly #names: StoryOf;
	readonly #entries: DemoEntry[] = [];
	#first: Source = direct;
	#userAgent = '';
	#atMs = 0;
	#visit = 0;
	/** In log odds. Grows with each visit and decays between visits. */
	#intent = 0;
	#plansViewed = 0;
	#orders = 0;
	#cid: string | null = null;
	#subscribed = false;

	constructor(chance: Chance, names: StoryOf) {
		this.#chance = chance;
		this.#names = names;
	}

	/** Generates all entries from the first visit until a moment, in no particular order. */
	tell(arrivalMs: number, untilMs: number): DemoEntry[] {
		const chance = this.#chance;
		const first = chance.byShare(sources);
		this.#first = first;
		const isMobile = chance.random() < first.mobileShare;
		this.#userAgent = chance.oneOf(isMobile ? phones : computers);
		this.#intent = first.intent + (isMobile ? -0.3 : 0.2) + chance.normal() * 0.8;
		// Visitors from the newsletter are customers: the links in the mail identify them.
		if (first === email && chance.random() < 0.6) this.#cid = this.#newCustomer();
		this.#atMs = arrivalMs;
		let source = first;
		for (; this.#visit < maxVisits && this.#atMs <= untilMs; this.#visit++) {
			this.#tellVisit(source);
			if (!chance.happens(this.#subscribed ? 1.2 : -0.9 + 0.75 * this.#intent)) break;
			this.#rest();
			source = this.#sourceOfReturn(first);
		}
		return this.#entries.filter(({ atMs }) => atMs <= untilMs);
	}

	#tellVisit(source: Source): void {
		const chance = this.#chance;
		let page = chance.oneOf(source.landings);
		let url = this.#addressOf(page) + source.query;
		let referrer = chance.oneOf(source.referrers);
		for (let pages = 1; ; pages++) {
			this.#tellPage(page, url, referrer);
			if (page === 'pricing' && this.#ordersNow()) {
				this.#tellOrder(url);
				return;
			}
			if (pages === maxPages || !chance.happens(0.1 + 0.35 * this.#intent)) break;
			this.#atMs += this.#readingMs();
			referrer = this.#addressOf(page);
			page = this.#nextPage(page);
			url = this.#addressOf(page);
		}
		this.#maybeCalls();
	}

	#nextPage(from: ShopPage): ShopPage {
		if (!this.#subscribed && from !== 'pricing' && this.#chance.happens(-1.3 + 0.8 * this.#intent))
			return 'pricing';
		return this.#chance.oneOf((['home', 'cooper', 'jerez'] as const).filter((page) => page !== from));
	}

	#tellPage(page: ShopPage, url: string, referrer: string): void {
		const events: DemoHit['fields']['events'][number][] = [];
		if (page === 'pricing') {
			this.#plansViewed++;
			events.push({ name: 'plans-viewed' });
		}
		if ((page === 'cooper' || page === 'jerez') && !this.#cid && this.#chance.random() < 0.04) {
			this.#cid = this.#newCustomer();
			events.push({ name: 'letter-requested' });
		}
		this.#hit(page, url, referrer, events);
	}

	#ordersNow(): boolean {
		if (this.#subscribed) return false;
		const { welcomes } = this.#names;
		const isWelcomed =
			welcomes && this.#visit > 0 && this.#atMs >= welcomes.fromMs && this.#atMs < welcomes.toMs;
		const interest = 0.55 * this.#intent + 0.55 * Math.min(this.#plansViewed, 5);
		return this.#chance.happens(-3.6 + interest + (isWelcomed ? welcomed : 0));
	}

	/** Basket, checkout, and in most cases the order. */
	#tellOrder(pricing: string): void {
		const chance = this.#chance;
		const rvn = chance.random() < 0.8 ? monthPence : yearPence;
		this.#atMs += this.#readingMs();
		this.#hit('pricing', pricing, '', [{ name: 'add-to-basket' }]);
		if (chance.random() < 0.2) return;
		this.#atMs += this.#readingMs();
		const tid = this.#newOrder();
		this.#cid ??= this.#newCustomer();
		const started = { name: 'checkout-started', tid, rvn, currency: 'GBP' };
		this.#hit('checkout', this.#addressOf('checkout'), this.#addressOf('pricing'), [started]);
		if (chance.random() < 0.2) return;
		this.#atMs += this.#readingMs();
		this.#hit('thanks', this.#addressOf('thanks'), this.#addressOf('checkout'), []);
		const isPaidAtOnce = chance.random() < 0.8;
		this.#subscribe(tid, null, rvn, this.#atMs + chance.timeMs(isPaidAtOnce ? 5 * minuteMs : 12 * hourMs));
	}

	/** A sale by phone: only the customer id connects it to the visitor. */
	#maybeCalls(): void {
		if (!this.#cid || this.#subscribed || !this.#chance.happens(-5 + 0.8 * this.#intent)) return;
		this.#subscribe(this.#newOrder(), this.#cid, monthPence, this.#atMs + this.#chance.timeMs(6 * hourMs));
	}

	/**
	 * The sale, and a renewal each month or year until it is cancelled; some ask for their money back. Renewals carry neither a
	 * `tid` that a page has shown nor a customer id: they are joined by `subid`.
	 */
	#subscribe(first: string, firstCid: string | null, rvn: number, paidAtMs: number): void {
		this.#subscribed = true;
		const subid = `subscription-${this.#names.run}-${this.#names.visitor}`;
		const periodMs = (rvn === yearPence ? 365 : 30) * dayMs;
		let tid = first;
		for (let period = 0; period < 13; period++) {
			const atMs = Math.floor(paidAtMs + period * periodMs);
			const [evt, cid] = period === 0 ? ['membership', firstCid] : ['renewal', null];
			this.#pay({ tid, subid, cid, evt, rvn }, atMs);
			if (this.#chance.random() < this.#first.refundShare) {
				const refund = { tid: this.#newOrder(), subid, cid: null, evt: 'refund', rvn: -rvn };
				this.#pay(refund, Math.floor(atMs + this.#chance.timeMs(3 * dayMs)));
				return;
			}
			if (this.#chance.random() < this.#first.cancelShare) return;
			tid = this.#newOrder();
		}
	}

	#pay(event: SubscriptionEvent, atMs: number): void {
		this.#entries.push({ type: 'subscription', atMs, visitor: this.#names.visitor, event });
	}

	/** The time until the next visit. Interested visitors return soon; the others lose interest. */
	#rest(): void {
		const breakMs = Math.max(minBreakMs, this.#chance.timeMs(2 * dayMs * Math.exp(-0.35 * this.#intent)));
		this.#intent += 0.35 - 0.12 * Math.min(10, breakMs / dayMs);
		this.#atMs = nextActiveMs(this.#chance.random, this.#atMs + breakMs);
	}

	#sourceOfReturn(first: Source): Source {
		const lot = this.#chance.random();
		if (this.#cid && lot < 0.4) return email;
		return lot < 0.65 ? direct : first;
	}

	#hit(page: ShopPage, url: string, referrer: string, events: DemoHit['fields']['events']): void {
		this.#entries.push({
			type: 'hit',
			atMs: this.#atMs,
			visitor: this.#names.visitor,
			visit: this.#visit,
			userAgent: this.#userAgent,
			fields: { url, referrer, title: shopPages[page].title, cid: this.#cid, events },
		});
	}

	#readingMs(): number {
		return Math.floor(Math.min(maxReadingMs, 2 * secondMs + this.#chance.timeMs(45 * secondMs)));
	}

	#addressOf(page: ShopPage): string {
		return this.#names.shop + shopPages[page].path;
	}

	#newCustomer(): string {
		return `customer-${this.#names.run}-${this.#names.visitor}`;
	}

	#newOrder(): string {
		return `order-${this.#names.run}-${this.#names.visitor}-${++this.#orders}`;
	}
}
