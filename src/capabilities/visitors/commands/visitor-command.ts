import type { Profile } from '../../../core/domain/profile.ts';
import { OperatorError } from '../../../core/errors.ts';
import { isoTime } from '../../../core/format/iso-time.ts';
import { counted } from '../../../core/format/numbers.ts';
import { runAct } from '../../../kit/act.ts';
import { commandLineUser, noteDone } from '../../../kit/cli/act-command.ts';
import { command, group } from '../../../kit/cli/command.ts';
import { confirm, requireTerminal } from '../../../kit/cli/confirm.ts';
import { visitorId } from '../../../kit/cli/flag-values.ts';
import { print, printJson, printLine, printRecord, printTable } from '../../../kit/cli/output.ts';
import { showProgress } from '../../../kit/cli/progress.ts';
import { erasureListSetting } from '../../../kit/config.ts';
import { visitorsWith } from '../../../kit/reading/visitor-finding.ts';
import { eraseOneCustomer, eraseOneVisitor, rebuildProfiles } from '../acts.ts';
import type { ErasedCounts } from '../store/erasing.ts';
import { erasable } from '../store/erasure.ts';
import { eraseAgainCommand } from './erase-again-command.ts';
import { printTimeline } from './timeline-command.ts';

const show = command('show', 'show a visitor in readable form')
	.description(
		`Print a visitor's profile; a timeline of visits, touches (with the share of a subscription that each model credits them with),
subscription events, scores and segments (by today's models and rules, not what pages were told); shown tids and cids; and
the segments last reported to webhooks.`,
	)
	.argument('<vid>', 'the visitor', visitorId)
	.onAccount(async (store, account, options, vid) => {
		const { shownLife, visitorLife } = await import('../visitor-life.ts');
		const life = await visitorLife(store, account, vid);
		await noteDone(store, 'visitor viewed', account.aid, vid);
		// Hits are only in the export.
		const { profile, identityLinks, memberships } = life.record;
		if (options.json) return printJson(shownLife(account.aid, life));
		printRecord({ aid: account.aid, vid, ...(profile && readable(profile)) });
		if (life.isGateway) printLine('\nThis is a mail gateway, which figures about visitors leave out.');
		printLine('');
		await printTimeline(life.timeline, account, true);
		printLine('');
		printTable(identityLinks, 'No tids or cids were shown.');
		printLine('');
		printTable(memberships, 'No segments were reported to webhooks.');
	});

const exportAll = command('export', 'print all data of a visitor')
	.description(
		'Print everything that is stored about a visitor as one JSON document, to answer a request for access.',
	)
	.argument('<vid>', 'the visitor', visitorId)
	.onAccount(async (store, account, _, vid) => {
		const { exportedVisitor } = await import('../visitor-life.ts');
		const exported = await exportedVisitor(store, account, vid);
		await noteDone(store, 'visitor exported', account.aid, vid);
		printJson(exported);
	});

const find = command('find', 'find visitors by customer id, transaction or subscription')
	.description(
		`List the visitors whose hits have shown a customer id or transaction id, or who own subscription events with it:
'shown' says whether a hit has, 'events' how many events. Events that nobody owns are in 'caskade events'.`,
	)
	.option('--cid <cid>', 'the customer id')
	.option('--tid <tid>', 'the transaction id')
	.option('--subid <subid>', 'the id of the subscription')
	.onAccount(async (store, { id, aid }, options) => {
		const named = (['cid', 'tid', 'subid'] as const).flatMap((kind) => {
			const value = options[kind];
			return value === undefined ? [] : [{ kind, value }];
		});
		const [key, another] = named;
		if (!key || another) throw new OperatorError('Name one of --cid, --tid and --subid.');
		const found = await store.read(id, visitorsWith(key));
		if (key.kind === 'cid' && found.length > 0) await noteDone(store, 'customer searched', aid, key.value);
		print(options, found, 'No visitor.');
	});

const erase = command('erase', 'erase a visitor, or all visitors of a customer')
	.description(
		`Erase the hits, visits and profile of a visitor, or with --cid of every visitor with that customer id. Their
subscription events stay as sales, without visitor and customer id. Another customer's data stays: visitors of earlier
versions who have shown several customers are named ('shared'), and split first. Running servers revoke their casks within a second. It
cannot be undone: the command says how much it would erase and asks, unless --yes is set. Erasing twice is no error.
Earlier backups still contain the data: after a restore, 'caskade visitor erase-again' erases it again.`,
	)
	.argument('[vid]', 'the visitor', visitorId)
	.option('--cid <cid>', 'the customer id')
	.option('--dry-run', 'only print what would be erased')
	.option('--yes', 'erase without asking')
	.setting(...erasureListSetting)
	.onAccount(async (store, account, options, vid) => {
		const { aid, id } = account;
		const { cid, dryRun = false, yes = false } = options;
		if ((vid === undefined) === (cid === undefined))
			throw new OperatorError('Name either a visitor, or a customer with --cid.');
		const erasee = vid === undefined ? { cid: cid as string } : { vid };
		const rows = ({ hits, events, links }: ErasedCounts) => hits + events + links;
		if (!dryRun && !yes) requireTerminal('--yes, or --dry-run to see what it would erase');
		const found = await erasable(store, id, erasee);
		if (rows(found) === 0 && !options.json)
			process.stderr.write(
				`Nothing is stored of this ${vid === undefined ? 'customer' : 'visitor'} in ${aid}: erased before, never here, or the id is written otherwise.\n`,
			);
		if (dryRun) return print(options, { aid, ...found });
		const { vids, shared = [], customers = 1, ...counts } = found;
		if (!yes && rows(counts) > 0) {
			const what = Object.entries({ visitors: vids.length, ...counts }).map((pair) => pair.join(' '));
			const apart =
				shared.length > 0
					? ` ${counted(shared.length, 'visitor')} (${shared.join(', ')}) have shown other customers, too: they are taken apart first, and what is the others' stays theirs.`
					: '';
			const several =
				customers > 1
					? ` The visitor has shown ${customers} customers, and what is theirs goes with it; 'caskade visitor rebuild ${aid}' takes it apart.`
					: '';
			await confirm(`${aid} would lose: ${what.join(', ')}.${apart}${several} It cannot be undone.`, 'yes');
		}
		const progress = showProgress(process.stderr, 'hits, events and links', options.json ?? false);
		const place = {
			store,
			account,
			// More may have arrived since they were counted.
			onProgress: (done: number) => progress.update(`erase ${aid}`, done, Math.max(done, rows(counts))),
		};
		const erasing =
			vid === undefined
				? runAct(eraseOneCustomer, commandLineUser(), place, { cid: cid as string })
				: runAct(eraseOneVisitor, commandLineUser(), place, { vid });
		const erasure = await erasing.finally(() => progress.end());
		print(options, erasure);
	});

const rebuild = command('rebuild', 'rebuild profiles from the log')
	.description(
		`Rebuild every visitor's visits, joins and profile from the log of hits and subscription events, and print how many
differed from it. Visitors who have shown several customers are split first ('apart'), into a visitor for
each customer: a hit goes to the customer that was shown last. Needed after an upgrade that asks for it, or after a manual repair.`,
	)
	.onAccount(async (store, account, options) => {
		const { aid } = account;
		const progress = showProgress(process.stderr, 'visitors', options.json ?? false);
		const onProgress = (visitors: number, total: number) =>
			progress.update(`rebuild ${aid}`, visitors, total);
		const report = await runAct(
			rebuildProfiles,
			commandLineUser(),
			{ store, account, onProgress },
			{},
		).finally(() => progress.end());
		print(options, report);
	});

export const visitorCommand = group(
	'visitor',
	'find, show, export, erase visitors',
	`Manage the data of visitors. A visitor is known by a random vid only, but the data may contain customer ids: protect
the output like the database. Use export for a person's request for access, and erase for a request to be forgotten.`,
	[show, exportAll, find, erase, eraseAgainCommand, rebuild],
);

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
