import { InvalidArgumentError } from 'commander';
import type { Profile } from '../domain/profile.ts';
import { OperatorError } from '../errors.ts';
import { isoTime } from '../format/iso-time.ts';
import { type SearchedKey, visitorsWith } from '../store/account/reading/visitor-finding.ts';
import type { Erased } from '../store/account/removing/erasing.ts';
import { erasable, eraseCustomerVisitors, eraseVisitor } from '../store/erasure.ts';
import { rebuildAll } from '../store/rebuilding.ts';
import type { Store } from '../store/store.ts';
import { aidArgument } from './aid-argument.ts';
import { Command } from './command.ts';
import { confirm, requireTerminal } from './confirm.ts';
import {
	type CommonOptions,
	print,
	printJson,
	printLine,
	printRecord,
	printTable,
	withAccount,
} from './output.ts';
import { showProgress } from './progress.ts';
import { printTimeline } from './timeline.ts';

export function visitorCommand(): Command {
	const command = new Command('visitor').summary('find, show, export, erase visitors').description(
		`Manage the data of visitors. A visitor is known by a random vid only, but the data may contain customer ids: protect
		the output like the database. Use export for a person's request for access, and erase for a request to be forgotten.`,
	);
	command
		.command('show')
		.summary('show a visitor in readable form')
		.description(
			`Print a visitor's profile; a timeline of visits, touches with each model's share of the subscriptions that they led to,
subscription events, and changes that webhooks were told; shown tids and cids; and the segments last reported to webhooks.
docs/reports.md says what of this is not kept.`,
		)
		.addArgument(aidArgument())
		.argument('<vid>', 'the visitor', vidArgument)
		.addCommonOptions()
		.action(show);
	command
		.command('export')
		.summary('print all data of a visitor')
		.description(
			'Print everything that is stored about a visitor as one JSON document, to answer a request for access.',
		)
		.addArgument(aidArgument())
		.argument('<vid>', 'the visitor', vidArgument)
		.onAccount(async (store, account, _options, vid: string) => {
			const { exportedVisitor } = await import('../reports/visitor-life.ts');
			printJson(await exportedVisitor(store, account, vid));
		});
	command
		.command('find')
		.summary('find visitors by customer id, transaction or subscription')
		.description(
			`List the visitors whose hits have shown a customer id or transaction id, or who own subscription events with it:
'shown' says whether a hit has, 'events' how many events. Events that nobody owns are in 'caskade events'.`,
		)
		.addArgument(aidArgument())
		.option('--cid <cid>', 'the customer id')
		.option('--tid <tid>', 'the transaction id')
		.option('--subid <subid>', 'the id of the subscription')
		.addCommonOptions()
		.action(find);
	command
		.command('erase')
		.summary('erase a visitor, or all visitors of a customer')
		.description(
			`Erase the hits, visits and profile of a visitor, or with --cid of every visitor with that customer id. Their
subscription events stay as sales, without visitor and customer id. Running servers revoke their casks within a second. It
cannot be undone: the command says how much it would erase and asks, unless --yes is set. Erasing twice is no error.
Earlier backups still contain the data.`,
		)
		.addArgument(aidArgument())
		.argument('[vid]', 'the visitor', vidArgument)
		.option('--cid <cid>', 'the customer id')
		.option('--dry-run', 'only print what would be erased')
		.option('--yes', 'erase without asking')
		.addCommonOptions()
		.action(erase);
	command
		.command('rebuild')
		.summary('rebuild profiles from the log')
		.description(
			`Rebuild every visitor's visits, joins and profile from the log of hits and subscription events, and print how many
			differed from it. Needed after an upgrade that asks for it, or after a manual repair.`,
		)
		.addArgument(aidArgument())
		.addCommonOptions()
		.action(rebuild);
	return command;
}

/** Parses a `vid`. */
export function vidArgument(value: string): string {
	if (!/^[0-9a-f]{32}$/.test(value))
		throw new InvalidArgumentError('It must be 32 lower-case hexadecimal digits.');
	return value;
}

/** The readable part of a record; hits are only in the export. */
async function show(aid: string, vid: string, options: CommonOptions): Promise<void> {
	const { shownLife, visitorLife } = await import('../reports/visitor-life.ts');
	await withAccount(options, aid, async (store, account) => {
		const life = await visitorLife(store, account, vid);
		const { profile, identityLinks, memberships } = life.record;
		if (options.json) return printJson(shownLife(aid, life));
		printRecord({ aid, vid, ...(profile && readable(profile)) });
		printLine('');
		await printTimeline(life.timeline, account, true);
		printLine('');
		printTable(identityLinks, 'No tids or cids were shown.');
		printLine('');
		printTable(memberships, 'No segments were reported to webhooks.');
	});
}

function readable(profile: Profile): Record<string, unknown> {
	const { subscriptions } = profile;
	return {
		firstAt: isoTime(profile.firstAtMs),
		lastAt: isoTime(profile.lastAtMs),
		hits: profile.hits,
		visits: profile.visits,
		activeDays: profile.activeDays,
		dwellMinutes: Math.round(profile.dwellMs / 60_000),
		device: profile.device,
		firstChannel: profile.firstChannel,
		lastChannel: profile.lastChannel,
		landingPage: profile.landingPage,
		lastPages: profile.pageTimes.slice(-5).map(([page]) => page),
		events: profile.events.map(([name, count]) => `${name}:${count}`),
		subscriptions: subscriptions?.count ?? 0,
		renewals: subscriptions?.renewals ?? 0,
		revenuePence: subscriptions?.revenuePence ?? 0,
	};
}

async function find(
	aid: string,
	options: CommonOptions & { [Kind in SearchedKey['kind']]?: string },
): Promise<void> {
	const named = (['cid', 'tid', 'subid'] as const).flatMap((kind) => {
		const value = options[kind];
		return value === undefined ? [] : [{ kind, value }];
	});
	const [key, another] = named;
	if (!key || another) throw new OperatorError('Name one of --cid, --tid and --subid.');
	await withAccount(options, aid, async (store, { id }) => {
		const found = await store.read(id, visitorsWith(key));
		print(options, found, 'No visitor.');
	});
}

interface EraseOptions extends CommonOptions {
	readonly cid?: string;
	readonly dryRun?: boolean;
	readonly yes?: boolean;
}

async function erase(aid: string, vid: string | undefined, options: EraseOptions): Promise<void> {
	const { cid, dryRun = false, yes = false } = options;
	if ((vid === undefined) === (cid === undefined))
		throw new OperatorError('Name either a visitor, or a customer with --cid.');
	const erasee = vid === undefined ? { cid: cid as string } : { vid };
	await withAccount(options, aid, async (store, { id }) => {
		if (dryRun) return print(options, { aid, ...(await erasable(store, id, erasee)) });
		if (!yes) requireTerminal('--yes, or --dry-run to see what it would erase');
		const { vids, ...counts } = await erasable(store, id, erasee);
		if (!yes) {
			const { links, hits, events } = counts;
			const what = Object.entries({ visitors: vids.length, ...counts }).map((pair) => pair.join(' '));
			if (hits + events + links > 0)
				await confirm(`${aid} would lose: ${what.join(', ')}. It cannot be undone.`, 'yes');
		}
		const progress = showProgress(process.stderr, 'hits, events and links', options.json ?? false);
		const rows = ({ hits, events, links }: Erased) => hits + events + links;
		const onProgress = (soFar: Erased) => {
			// More may have arrived since they were counted.
			progress.update(`erase ${aid}`, rows(soFar), Math.max(rows(soFar), rows(counts)));
		};
		const erasing =
			'vid' in erasee
				? eraseVisitor(store, id, erasee.vid, onProgress)
				: eraseCustomerVisitors(store, id, erasee.cid, onProgress);
		const erasure = await erasing.finally(() => progress.end());
		print(options, { aid, ...erasure });
	});
}

async function rebuild(aid: string, options: CommonOptions): Promise<void> {
	await withAccount(options, aid, async (store, { id }) => {
		const report = await rebuildWithProgress(store, id, aid, options.json ?? false);
		print(options, { aid, ...report });
	});
}

async function rebuildWithProgress(store: Store, accountId: number, aid: string, quiet: boolean) {
	const progress = showProgress(process.stderr, 'visitors', quiet);
	try {
		return await rebuildAll(store, accountId, (visitors, total) =>
			progress.update(`rebuild ${aid}`, visitors, total),
		);
	} finally {
		progress.end();
	}
}
