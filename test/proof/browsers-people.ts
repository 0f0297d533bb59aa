import { setTimeout as delay } from 'node:timers/promises';
import { dayMs, hourMs } from '../../src/core/durations.ts';
import type { Way } from './browsers-web.ts';
import type { Opening, Tab, Visit, World, WorldOptions } from './browsers-world.ts';
import type { Chance } from './chance.ts';

export interface Size {
	/** Of each kind; of readers, who come often, half as many. */
	readonly people: number;
	/** For how long readers come. */
	readonly days: number;
}

/** A kind of people, on a site of its own. */
export interface Kind {
	readonly name: string;
	readonly options: WorldOptions;
	visits(world: World, chance: Chance, size: Size): Promise<Visit[]>;
	/** Why nothing can tell these people; they are shown, and left out of the sums. */
	readonly limit?: string;
}

/**
 * How somebody comes to the site, and what the service should call it.
 * @param hasClickIds whether links of advertisers may be among them
 */
function arrival(
	chance: Chance,
	landing: string,
	hasClickIds = true,
): { opening: Pick<Opening, 'path' | 'referrer' | 'query'>; channel: string } {
	const ways: { channel: string; opening: Pick<Opening, 'referrer' | 'query'> }[] = [
		{ channel: 'organic search', opening: { referrer: 'https://www.google.com/' } },
		{ channel: 'paid search', opening: { referrer: 'https://www.google.com/', query: 'gclid=Cj0K' } },
		{ channel: 'email', opening: { query: 'utm_source=letter&utm_medium=email&utm_campaign=week' } },
		{ channel: 'social', opening: { referrer: 'https://www.facebook.com/', query: 'fbclid=IwAR' } },
		{ channel: 'affiliates', opening: { query: 'utm_source=friend&utm_medium=affiliate' } },
		{ channel: 'referral', opening: { referrer: 'https://blog.friend.example/' } },
		{ channel: 'direct', opening: {} },
	];
	const possible = ways.filter(({ opening }) => hasClickIds || !/clid=/.test(opening.query ?? ''));
	const { channel, opening } = chance.pick(possible);
	return { channel, opening: { ...opening, path: `/${landing}` } };
}

function range(count: number): number[] {
	return Array.from({ length: count }, (_, index) => index + 1);
}

function named(world: World, count: number): { readonly name: string }[] {
	return range(count).map(() => ({ name: `event ${world.number()}` }));
}

function laterMs(world: World, chance: Chance, days: number): number {
	return world.beganMs + chance.between(0, days) * dayMs;
}

function slowly(chance: Chance, isSafari: boolean): Way {
	// What a script has written does not last in Safari, and without any answer there is nothing else.
	return { answerMs: chance.between(100, 3000), isAnswerLost: !isSafari && chance.is(0.2) };
}

/** Several tabs in a first visit, which are left before answers come; later a purchase, on another host of the site. */
async function shoppers(world: World, chance: Chance, { people }: Size): Promise<Visit[]> {
	const visits: Visit[] = [];
	for (const person of range(people)) {
		const visitor = `shopper ${person}`;
		const isSafari = person % 3 === 1;
		const device = await world.device({ isSafari });
		const first = arrival(chance, `offers/${person}`);
		const later = arrival(chance, `again/${person}`);
		const product = (way: Way = {}): Opening => ({ visitor, path: `/products/${chance.below(50)}`, way });
		const buy = async (tab: Tab) => {
			const host = `checkout.${world.domain}`;
			const tid = `order-${person}`;
			const cid = `customer-${person}`;
			const has = chance.pick(['tid', 'cid', 'both'] as const);
			const commands = has === 'tid' ? [] : [`vscr('addCustomerId','${cid}')`];
			await tab.follow({ visitor, host, path: '/basket-and-address', commands });
			await tab.answered();
			const sale = {
				name: `checkout ${world.number()}`,
				...(has !== 'cid' && { tid, rvn: 4900, currency: 'GBP' }),
			};
			await tab.add([sale]);
			await tab.leave('https://checkout.stripe.com/pay');
			await tab.go({ visitor, host, path: '/thanks', referrer: 'https://checkout.stripe.com/', commands });
			await tab.answered();
			world.truth.sales.push({ tid, firstTouch: `${first.channel}, offers/${person}` });
			await world.upload({ tid, subid: `sub-${person}`, ...(has !== 'tid' && { cid }) });
		};
		const atMs = laterMs(world, chance, 20);
		visits.push({
			atMs,
			play: async () => {
				const landing = await device.open({
					visitor,
					...first.opening,
					way: slowly(chance, isSafari),
					events: chance.below(2),
				});
				await landing.arrived();
				for (const _ of range(1 + chance.below(3))) {
					const tab = await landing.followInNewTab(product(slowly(chance, isSafari)), chance.is(0.5));
					await tab.arrived();
					if (chance.is(0.5)) await tab.add(named(world, 1));
					await tab.close();
				}
				if (person % 6 === 0) await buy(landing);
				else if (chance.is(0.5)) {
					await landing.follow(product());
					await landing.answered();
				}
				await landing.close();
			},
		});
		if (person % 6 === 0) continue;
		visits.push({
			atMs: atMs + chance.between(1, 20) * dayMs,
			play: async () => {
				const tab = await device.open({ visitor, ...later.opening });
				await tab.answered();
				await tab.follow({ ...product(), events: 2 });
				await tab.answered();
				if (chance.is(0.8)) await buy(tab);
				await tab.close();
			},
		});
	}
	return visits;
}

/**
 * Readers who come back, with one tab in a visit.
 * @param everyDays how often they come, in turns
 * @param isSafari their browsers, likewise
 */
function readers(everyDays: readonly number[], isSafari: readonly boolean[]) {
	return async (world: World, chance: Chance, { people, days }: Size): Promise<Visit[]> => {
		const visits: Visit[] = [];
		for (const person of range(Math.ceil(people / 2))) {
			const visitor = `reader ${person}`;
			const apartDays = everyDays[person % everyDays.length] as number;
			const device = await world.device({ isSafari: isSafari[person % isSafari.length] as boolean });
			const tab = await device.tab();
			const article = (): Opening => ({
				visitor,
				path: `/articles/${chance.below(500)}`,
				events: chance.below(2),
			});
			// At about the same time of the day.
			for (let day = 0; day < days; day += apartDays)
				visits.push({
					atMs: world.beganMs + day * dayMs + 7 * hourMs + chance.between(0, 3) * hourMs,
					play: async () => {
						// After a link with a click id Safari keeps for one day what a script has written.
						const { opening } = arrival(chance, 'front', world.isOwnPath);
						await tab.go({ ...article(), ...opening });
						await tab.answered();
						if (!chance.is(0.2)) return;
						await tab.follow(article());
						await tab.answered();
					},
				});
		}
		return visits;
	};
}

/** Two customers share a browser, and one of them has another. */
async function families(world: World, chance: Chance, { people }: Size): Promise<Visit[]> {
	const visits: Visit[] = [];
	for (const family of range(people)) {
		const shared = await world.device({ isSafari: family % 2 === 0 });
		const own = await world.device();
		const beganMs = laterMs(world, chance, 10);
		const [anna, ben] = ['anna', 'ben'].map((name) => `${name}-${family}`) as [string, string];
		const visit = (
			day: number,
			cid: string,
			where: 'shared' | 'own',
			landing: string,
			sale?: 'tid' | 'cid',
		) => {
			const visitor = `${cid}, ${where} browser`;
			const came = arrival(chance, landing);
			const commands = [`vscr('addCustomerId','${cid}')`];
			visits.push({
				atMs: beganMs + day * dayMs,
				play: async () => {
					const device = where === 'shared' ? shared : own;
					// The shop knows whoever was there before, and the very first page nobody.
					const isFirst = cid === anna && day === 0;
					const way = { answerMs: chance.between(0, 600) };
					const tab = await device.open({
						visitor,
						...came.opening,
						way,
						commands: isFirst ? [] : commands,
					});
					await (chance.is(0.5) ? tab.answered() : tab.arrived());
					await tab.follow({ visitor, path: `/products/${chance.below(50)}`, commands, events: 1 });
					await tab.answered();
					if (sale) await buy(tab, sale, cid, visitor);
					await tab.close();
				},
			});
			return came.channel;
		};
		const firstOf = new Map<string, string>();
		const buy = async (tab: Tab, by: 'tid' | 'cid', cid: string, visitor: string) => {
			const tid = `order-${world.number()}`;
			if (by === 'tid') {
				await tab.fire([{ name: `checkout ${world.number()}`, tid }]);
				await tab.answered();
			}
			// A sale that was begun on a page is of whoever began it, else of the first browser that has shown the customer.
			const firstTouch = firstOf.get(by === 'tid' ? visitor : cid) ?? '';
			world.truth.sales.push({ tid, firstTouch });
			await world.upload({ tid, subid: tid, cid });
		};
		const first = (day: number, cid: string, where: 'shared' | 'own') => {
			const landing = `offers/${family}/${cid}/${where}`;
			const touch = `${visit(day, cid, where, landing)}, ${landing}`;
			firstOf.set(`${cid}, ${where} browser`, touch);
			if (!firstOf.has(cid)) firstOf.set(cid, touch);
		};
		first(0, anna, 'shared');
		first(2, ben, 'shared');
		visit(3, anna, 'shared', `again/${family}/1`, 'tid');
		first(4, ben, 'own');
		visit(5, ben, 'shared', `again/${family}/2`, 'cid');
		visit(9, anna, 'shared', `again/${family}/3`, 'cid');
		visit(12, ben, 'own', `again/${family}/4`, 'tid');
		visit(15, ben, 'shared', `again/${family}/5`, 'tid');
	}
	return visits;
}

/** Tabs in the background, of which some are never looked at. */
async function backgroundTabs(world: World, chance: Chance, { people }: Size): Promise<Visit[]> {
	const visits: Visit[] = [];
	for (const person of range(people)) {
		const visitor = `person with tabs ${person}`;
		const device = await world.device({ isSafari: person % 3 === 2 });
		const referrer = `https://www.${world.domain}/front`;
		for (const day of [0, 3])
			visits.push({
				atMs: world.beganMs + (day + chance.between(0, 1)) * dayMs,
				play: async () => {
					const front = await device.open({ visitor, path: '/front' });
					if (chance.is(0.5)) await front.answered();
					const tabs: Tab[] = [];
					for (const _ of range(2 + chance.below(3)))
						tabs.push(
							await device.open(
								{ visitor, path: `/articles/${chance.below(500)}`, referrer },
								{ isHidden: true },
							),
						);
					await delay(chance.between(100, 500));
					for (const [index, tab] of tabs.entries()) {
						if (index % 2 === 1) {
							await tab.look();
							await tab.answered();
							await tab.fire(named(world, 1));
						}
						await tab.close();
					}
					await front.answered();
					await front.close();
				},
			});
	}
	return visits;
}

const otherScripts = [
	'閲覧した商品',
	'просмотр товара',
	'προβολή προϊόντος',
	'عرض المنتج',
	'उत्पाद देखा',
	'👀🛒',
];

/** Many events before a page is left, on slow lines. */
async function slowLines(world: World, chance: Chance, { people }: Size): Promise<Visit[]> {
	const visits: Visit[] = [];
	for (const person of range(people)) {
		const visitor = `person on a slow line ${person}`;
		const device = await world.device({ isSlow: true });
		const long = (count: number) =>
			range(count).map(() => ({
				name: `${world.number()} ${chance.pick(otherScripts).repeat(20).slice(0, 200)}`,
			}));
		visits.push({
			atMs: laterMs(world, chance, 20),
			play: async () => {
				const tab = await device.open({
					visitor,
					path: '/form',
					way: { answerMs: chance.between(100, 1500) },
				});
				const kind = person % 5;
				const isWaiting = kind === 2;
				await (!isWaiting && chance.is(0.5) ? tab.answered() : tab.arrived());
				if (kind === 1) await tab.add(long(100));
				// The second hit has to wait for the answer to the first, which does not come in time.
				else if (isWaiting) await tab.fire(named(world, 5));
				else if (kind === 3)
					// The service leaves out the amount, and keeps the rest.
					await tab.add([
						...named(world, 9),
						{ name: `event ${world.number()}`, rvn: 4.99 },
						...named(world, 10),
					]);
				else if (kind === 4) await tab.add(named(world, 100));
				else await tab.add(long(20));
				// A browser sends 64 KiB for a page that is gone; what is more waits for the next page of the tab.
				if (kind === 1 || (!isWaiting && chance.is(0.5))) {
					await tab.follow({ visitor, path: '/next' });
					await tab.answered();
				}
				await tab.leave();
				await delay(1500);
				await tab.close();
			},
		});
	}
	return visits;
}

/** Browsers that refuse cookies, and frames without an origin: each page stands for itself. */
async function blockedCookies(world: World, chance: Chance, { people }: Size): Promise<Visit[]> {
	const visits: Visit[] = [];
	for (const person of range(people)) {
		const visitor = `person without cookies ${person}`;
		const isFramed = person % 2 === 0;
		const device = await world.device({ blocksCookies: !isFramed });
		visits.push({
			atMs: laterMs(world, chance, 20),
			play: async () => {
				const way = { answerMs: chance.between(0, 1000) };
				const tab = await device.open({ visitor, path: '/widget', isFramed, way, events: 1 });
				await tab.arrived();
				await tab.answered();
				for (const _ of range(2)) {
					if (!isFramed) {
						await tab.show(`/screens/${chance.below(9)}-${world.number()}`, push);
						await tab.answered();
					}
					await tab.fire(named(world, 2));
					await delay(100);
				}
				await tab.add(named(world, 1));
				await tab.leave();
				await tab.close();
			},
		});
	}
	return visits;
}

const push = (url: string) => `history.pushState(null,'',${JSON.stringify(url)})`;
const replace = (url: string) => `history.replaceState(null,'',${JSON.stringify(url)})`;

/** Apps of one page, whose routes are in the path, the fragment or the query. */
async function apps(world: World, chance: Chance, { people }: Size): Promise<Visit[]> {
	const visits: Visit[] = [];
	const routers = [
		{ commands: [], route: (name: string) => `/app/${name}`, elsewhere: `'?panel=2#here'` },
		{
			commands: [`vscr('setRoutes','#')`],
			route: (name: string) => `#/${name}`,
			elsewhere: `'?panel=2'+location.hash`,
		},
		{
			commands: [`vscr('setRoutes','page_id')`],
			route: (name: string) => `?page_id=${name}`,
			elsewhere: `'#here'`,
		},
	];
	for (const person of range(people)) {
		const visitor = `user of an app ${person}`;
		const device = await world.device({ isSafari: person % 4 === 3 });
		const { commands, route, elsewhere } = routers[person % routers.length] as (typeof routers)[number];
		for (const day of [0, 5])
			visits.push({
				atMs: world.beganMs + (day + chance.between(0, 1)) * dayMs,
				play: async () => {
					const tab = await device.open({ visitor, path: '/app', commands });
					await (chance.is(0.5) ? tab.answered() : tab.arrived());
					for (const step of range(4)) {
						const path = route(`screen-${step}-${chance.below(100)}`);
						const kind = chance.below(4);
						if (kind === 0) await tab.show(path, push);
						else if (kind === 1) await tab.show(path, replace);
						// A route that redirects.
						else if (kind === 2)
							await tab.show(path, (url) => `${push(route('gone'))}; setTimeout(() => ${replace(url)}, 10)`);
						else {
							// Something else of the address changes first, which is no screen.
							await tab.page.evaluate(`history.pushState(null,'',${elsewhere})`);
							await delay(400);
							await tab.show(path, push);
						}
						if (chance.is(0.5)) await tab.add(named(world, 1));
						await tab.answered();
					}
					await tab.show(route('last'), push);
					await tab.answered();
					await tab.show(route('back'), () => 'history.back()');
					await tab.answered();
					await tab.close();
				},
			});
	}
	return visits;
}

export const kinds: readonly Kind[] = [
	{ name: 'shoppers', options: { domain: 'shop.co.uk', service: 'own path' }, visits: shoppers },
	{
		name: 'readers, every day to every week',
		options: { domain: 'paper.co.uk', service: 'own path' },
		visits: readers([8, 1, 7, 3], [false, true, true, false]),
	},
	{
		name: 'readers, service on another site',
		options: { domain: 'gazette.example', service: 'another site' },
		visits: readers([4, 1, 2, 6], [false, true, false, true]),
	},
	{ name: 'families', options: { domain: 'family.example', service: 'own path' }, visits: families },
	{
		name: 'background tabs',
		options: { domain: 'tabs.example', service: 'another site' },
		visits: backgroundTabs,
	},
	{ name: 'slow lines', options: { domain: 'slow.example', service: 'own path' }, visits: slowLines },
	{
		name: 'no cookies',
		options: { domain: 'frames.example', service: 'another site' },
		visits: blockedCookies,
	},
	{ name: 'apps of one page', options: { domain: 'apps.example', service: 'own path' }, visits: apps },
	{
		name: 'weekly readers in Safari, service on another site',
		options: { domain: 'weekly.example', service: 'another site' },
		visits: readers([8], [true]),
		limit: 'Safari deletes after seven days what a script has written',
	},
];
