import { caskLifetimeMs } from '../../../core/domain/signing-key.ts';
import { counted } from '../../../core/format/numbers.ts';
import type { OpenStore } from '../../../core/store/store.ts';
import { noteDone } from '../../../kit/cli/act-command.ts';
import { command } from '../../../kit/cli/command.ts';
import { serverUrl } from '../../../kit/cli/flag-values.ts';
import { type CommonOptions, place, print, withStore } from '../../../kit/cli/output.ts';
import { showProgress } from '../../../kit/cli/progress.ts';
import { accountToken, wholeNumber } from '../../../kit/format/values.ts';
import { saveSpending, spendingRows } from '../../../kit/reading/spending.ts';
import { newCask } from '../../accounts/commands/cask-command.ts';
import { endOf } from '../../experiments/store/experiment.ts';
import { demoAid, openDemoAccount, uploadLine } from '../demo-account.ts';
import { countReads, demoExperiment, isInGroup } from '../demo-experiment.ts';
import { demoSpending } from '../demo-spending.ts';
import { loadStream } from '../load-stream.ts';
import { type DemoOptions, demoStream } from '../stream.ts';
import { undecidedVisitor } from '../undecided-visitor.ts';

export const demoCommand = command('demo', 'generate visitors, hits and uploads, to try scores and segments')
	.description(
		`Fill an account with generated visitors of a small shop: where they come from, what they look at, when they return,
and who subscribes and renews, in a shop that grows. More interested visitors subscribe more often, so there is something to score. If the
account does not exist, it is created with a client, a plan, a key and a segment.

It takes seconds, also beside a running server, and prints what to try next. Each run adds as many visitors;
another --seed generates different ones.`,
	)
	.argument('[aid]', 'account token', accountToken, demoAid)
	.option('--visitors <number>', 'how many', wholeNumber(1, 50_000), 5000)
	.option('--days <number>', 'how far back they go', wholeNumber(1, 730), 365)
	.option('--seed <number>', 'the same seed generates the same visitors', wholeNumber(0, 2 ** 31), 1)
	.option(
		'--url <address>',
		"the server's address in the printed commands (default: that of the server on the data folder, else http://127.0.0.1:8080, with the stage)",
		serverUrl,
	)
	.common()
	.action((options, own, aid = demoAid) =>
		withStore(
			options,
			async (store) => {
				const url = options.url ?? (await store.status()).url ?? usualUrl(options);
				const report = await fill(store, aid, url, options);
				print(options, report, whatToTry(report, url, place(own)));
			},
			{ create: true },
		),
	);

/** The address of a server that is started without flags. */
function usualUrl({ stage }: CommonOptions): string {
	return `http://127.0.0.1:8080${stage === undefined ? '' : `/${stage}`}`;
}

/** @returns what was stored, and what the next steps need */
async function fill(
	store: OpenStore,
	aid: string,
	url: string,
	options: CommonOptions & Pick<DemoOptions, 'visitors' | 'days' | 'seed'>,
) {
	const { account, key } = await openDemoAccount(store, aid);
	await noteDone(store, 'demo data added', aid);
	const untilMs = Date.now();
	const experiment = await demoExperiment(store, account, { days: options.days, untilMs });
	const welcomes = experiment && { fromMs: experiment.fromMs, toMs: endOf(experiment) };
	const entries = demoStream({
		seed: options.seed,
		visitors: options.visitors,
		days: options.days,
		untilMs,
		shop: `${url}/demo/`,
		...(welcomes && { welcomes }),
	});
	const progress = showProgress(process.stderr, 'hits and events', options.json ?? false);
	const vids = await loadStream(
		store,
		account,
		entries,
		(done) => progress.update(`demo ${aid}`, done, entries.length),
		(visitor, vid) => !experiment || isInGroup(experiment, options.seed, visitor, vid),
	).finally(() => progress.end());
	const spent = demoSpending(entries, await store.read(account.id, spendingRows()));
	await store.transact(account.id, () => saveSpending(spent));
	if (experiment) await countReads(store, account.id, experiment, { entries, vids });
	const vid = vids.get(undecidedVisitor(entries) ?? -1);
	const issued = vid === undefined ? undefined : await newCask(store, aid, { vid, ttl: caskLifetimeMs });
	const hits = entries.filter(({ type }) => type === 'hit').length;
	return {
		aid,
		client: account.client,
		// Where the demo's client had no key.
		...(key !== undefined && { key }),
		// Which has a true effect; see `docs/how-to/experiments.md`.
		...(experiment && { experiment: experiment.name }),
		visitors: vids.size,
		hits,
		events: entries.length - hits,
		// Of a visitor who has not bought yet.
		...(vid !== undefined && issued && { vid, cask: issued.cask, caskExpiresAt: issued.expiresAt }),
	};
}

/** Commands to paste into a terminal. */
function whatToTry(report: Awaited<ReturnType<typeof fill>>, url: string, at: string): string {
	const { aid, key, visitors, hits, events, vid, cask, experiment } = report;
	const caskade = (words: string) => `bin/caskade ${words}${at}`;
	const read = (path: string) => `curl -s${url.startsWith('https:') ? 'k' : ''} "${url}${path}?cask=$CASK"`;
	const paragraphs: readonly (readonly string[])[] = [
		[
			`${aid} has ${counted(visitors, 'more visitor')}, with ${counted(hits, 'hit')} and ${counted(events, 'subscription event')}.`,
		],
		['# Let scores tell visitors apart', caskade(`train ${aid}`)],
		vid === undefined
			? []
			: [
					'# Scores and segments of somebody who keeps looking at the plans',
					`CASK=${cask}`,
					read('/visscores'),
					read('/visscores/segments'),
					caskade(`visitor show ${aid} ${vid}`),
				],
		[
			'# Segments, and how many are in one',
			caskade(`segment list ${aid}`),
			caskade(`segment test ${aid} considering`),
		],
		experiment === undefined
			? []
			: ['# What an experiment showed', caskade(`report lift ${aid} ${experiment}`)],
		key === undefined ? [] : ['# An upload; the key is shown this once', uploadLine(url, aid, key)],
		aid === demoAid ? ['# A shop to click through, where the server runs with --demo', `${url}/demo/`] : [],
	];
	return paragraphs
		.filter(({ length }) => length > 0)
		.map((lines) => lines.join('\n'))
		.join('\n\n');
}
