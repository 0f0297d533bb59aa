/**
 * `npm run proof:browsers -- [--people N] [--days N] [--seed N] [--only KIND]` plays people in a real browser against real
 * servers: shoppers with tabs and subdomains, readers over 13 months, families, background tabs, slow lines, pages without
 * cookies, apps of one page. What they did is known. It prints what the service tells of it. `browsers.test.ts` is the short form.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { launchBrowser } from '../core/collect/browser.ts';
import type { Lasting } from '../support.ts';
import { type Kind, kinds, type Size } from './browsers-people.ts';
import type { Compared } from './browsers-truth.ts';
import { Web } from './browsers-web.ts';
import { World } from './browsers-world.ts';
import { Chance } from './chance.ts';

/** More at once would only wait for each other. */
const worldsAtOnce = 4;

export interface Played {
	readonly kind: Kind;
	readonly compared: Compared;
}

/** Plays kinds of people, and compares what the service tells with what they did. */
export async function playBrowsers(
	lasting: Lasting,
	{
		seed,
		only = /./,
		withLimits = true,
		...size
	}: Size & { readonly seed: number; readonly only?: RegExp; readonly withLimits?: boolean },
	onPlayed: (played: Played) => void = () => {},
): Promise<Played[]> {
	const web = await Web.start();
	lasting.after(() => web[Symbol.asyncDispose]());
	const browser = await launchBrowser(web.browserFlags);
	lasting.after(() => browser.close());
	const played: Played[] = [];
	const waiting = [...kinds.entries()].filter(
		([, { name, limit }]) => only.test(name) && (withLimits || limit === undefined),
	);
	const playNext = async (): Promise<void> => {
		const next = waiting.shift();
		if (!next) return;
		const [number, kind] = next;
		const world = await World.start(lasting, web, browser, kind.options);
		await world.play(await kind.visits(world, new Chance(seed * 1000 + number), size));
		played.push({ kind, compared: await world.compared() });
		onPlayed(played.at(-1) as Played);
		await playNext();
	};
	await Promise.all(Array.from({ length: worldsAtOnce }, playNext));
	return played;
}

/** The sums of kinds that can be told at all. */
export function sumOf(played: readonly Played[]): Record<'visitors' | 'pages' | 'events' | 'sales', number> {
	const counted = played.flatMap(({ kind, compared }) => (kind.limit === undefined ? compared : []));
	const ratio = (told: (of: Compared) => number, wanted: (of: Compared) => number) =>
		counted.reduce((sum, of) => sum + told(of), 0) / counted.reduce((sum, of) => sum + wanted(of), 0);
	return {
		visitors: ratio(
			({ visitors }) => visitors.told,
			({ visitors }) => visitors.wanted,
		),
		pages: ratio(
			({ pages }) => pages.told,
			({ pages }) => pages.wanted,
		),
		events: ratio(
			({ events }) => events.told,
			({ events }) => events.wanted,
		),
		sales: ratio(
			({ sales }) => sales.right,
			({ sales }) => sales.wanted,
		),
	};
}

/** What went wrong, a line each. */
export function faultsOf({ visitors, pages, events, sales }: Compared): string[] {
	const lines = {
		'one visitor told as several': visitors.split,
		'several visitors told as one': visitors.merged,
		'page lost': pages.lost,
		'page that nobody saw, or twice': pages.extra,
		'event lost': events.lost,
		'event that nobody fired, or twice': events.extra,
		'sale without the right first touch': sales.wrong,
	};
	return Object.entries(lines).flatMap(([what, found]) => found.map((one) => `${what}: ${one}`));
}

function tableOf(played: readonly Played[]): string {
	const share = (told: number, wanted: number) =>
		wanted === 0 ? '' : `${(told / wanted).toFixed(3)} (${told}/${wanted})`;
	const shown = (ratio: number) => (Number.isNaN(ratio) ? '' : ratio.toFixed(3));
	const rows = played.map(({ kind, compared: { visitors, pages, events, sales } }) => [
		kind.name,
		share(visitors.told, visitors.wanted),
		share(pages.told, pages.wanted),
		share(events.told, events.wanted),
		share(sales.right, sales.wanted),
		kind.limit ?? '',
	]);
	const sum = sumOf(played);
	const all = ['in all', ...[sum.visitors, sum.pages, sum.events, sum.sales].map(shown), ''];
	const head = [
		'people',
		'visitors told ÷ true',
		'pages stored ÷ seen',
		'events stored ÷ fired',
		'sales right',
		'',
	];
	return [head, head.map(() => '---'), ...rows, all].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

if (import.meta.main) {
	const { values } = parseArgs({
		options: {
			people: { type: 'string', default: '6' },
			days: { type: 'string', default: '390' },
			seed: { type: 'string', default: '1' },
			only: { type: 'string', default: '.' },
		},
	});
	const beganMs = performance.now();
	const ends: (() => unknown)[] = [];
	const lasting: Lasting = { after: (end: () => unknown) => void ends.push(end) };
	const secondsSince = () => ((performance.now() - beganMs) / 1000).toFixed(0);
	try {
		const size = { people: Number(values.people), days: Number(values.days), seed: Number(values.seed) };
		const played = await playBrowsers(
			lasting,
			{ ...size, only: new RegExp(values.only) },
			({ kind, compared }) => {
				console.log(`${kind.name}: ${secondsSince()} s`);
				for (const line of faultsOf(compared).slice(0, 20)) console.log(`  ${line}`);
			},
		);
		console.log(`${tableOf(played)}\nseed ${values.seed}, ${secondsSince()} s`);
	} finally {
		for (const end of ends.toReversed()) await Promise.race([end(), delay(10_000)]);
	}
}
