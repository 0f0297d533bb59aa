import { setTimeout as delay } from 'node:timers/promises';
import { Argument, InvalidArgumentError, Option } from 'commander';
import { type CaskSubject, issueCask } from '../access/cask.ts';
import { Command, databaseOption, jsonOption, stageOption } from '../config.ts';
import { isSubject } from '../domain/cask-scope.ts';
import { caskLifetimeMs, keyPropagationMs } from '../domain/signing-key.ts';
import { OperatorError } from '../errors.ts';
import type { Store } from '../store/store.ts';
import { type CommonOptions, printJson, printLine, printRecord, withStore } from './output.ts';

interface IssueOptions extends CommonOptions {
	readonly vid?: string;
	readonly sid?: string;
	readonly ttl: number;
}

export function caskCommand(): Command {
	const command = new Command('cask').summary('issue casks, rotate what signs them').description(
		`Casks: what opens the scores and segments of one visitor or one visit, for 24 hours at most. Pages get theirs
with every hit; here an operator issues one, to try or to support. Whoever holds a cask may read: treat it so.`,
	);
	command
		.command('issue')
		.summary('issue a cask for a visitor or a visit')
		.description('Issue a cask for all of a visitor (--vid), or for one visit (--sid).')
		.addArgument(new Argument('<aid>', 'account token'))
		.addOption(new Option('--vid <vid>', 'the visitor').argParser(subject).conflicts('sid'))
		.addOption(new Option('--sid <sid>', 'the visit').argParser(subject))
		.addOption(
			new Option('--ttl <time>', 'how long it opens, as 90s, 15m or 24h')
				.argParser(lifetimeMs)
				.default(caskLifetimeMs, '24h'),
		)
		.addOption(databaseOption())
		.addOption(stageOption())
		.addOption(jsonOption())
		.action((aid: string, options: IssueOptions) =>
			withStore(options, async (store) => {
				const issued = await issue(store, aid, options);
				if (options.json) printJson(issued);
				else printRecord(issued);
			}),
		);
	command
		.command('rotate')
		.summary('sign with a new key from now on')
		.description(
			`Sign casks with a new key from now on. What was signed with earlier ones is verified until it expires, so pages
notice nothing. To void a visitor's casks at once, erase the visitor; to void an account's, disable it.`,
		)
		.addOption(databaseOption())
		.addOption(stageOption())
		.addOption(jsonOption())
		.action((options: CommonOptions) =>
			withStore(options, async (store) => {
				const { kid, createdAtMs } = await store.control.rotateSigningKeys();
				const signsFrom = new Date(createdAtMs + keyPropagationMs).toISOString();
				if (options.json) printJson({ kid, signsFrom });
				else
					printLine(`Key ${kid} signs from ${signsFrom}; what was signed before stays valid for its time.`);
			}),
		);
	return command;
}

/** For the end of a second, and a little more. */
const longestWaitMs = 2000;

/** Issues a cask by hand. */
export async function issue(
	{ control, now }: Store,
	aid: string,
	{ vid, sid, ttl }: Pick<IssueOptions, 'vid' | 'sid' | 'ttl'>,
): Promise<{ cask: string; expiresAt: string }> {
	const of: Omit<CaskSubject, 'aid'> | undefined =
		vid !== undefined
			? { scope: 'vid', subject: vid }
			: sid !== undefined
				? { scope: 'sid', subject: sid }
				: undefined;
	if (!of) throw new OperatorError('Give --vid or --sid: what the cask is to open.');
	const { id } = await control.account(aid);
	const keys = await control.ensureSigningKeys();
	await outliveRevocation(await control.casksRevokedAtMs(id, of.subject), now);
	const { cask, expiresAtMs } = issueCask(keys, { aid, ...of }, now(), ttl);
	return { cask, expiresAt: new Date(expiresAtMs).toISOString() };
}

/** A cask knows its second only; one from the second of a revocation would be void with those from before it. */
async function outliveRevocation(revokedAtMs: number | undefined, now: () => number): Promise<void> {
	if (revokedAtMs === undefined) return;
	const fromMs = (Math.floor(revokedAtMs / 1000) + 1) * 1000;
	const waitMs = fromMs - now();
	if (waitMs > longestWaitMs)
		throw new OperatorError(
			`Casks for it are void until ${new Date(fromMs).toISOString()}: it was erased, and a clock was ahead then.`,
		);
	if (waitMs > 0) await delay(waitMs);
}

function subject(value: string): string {
	if (!isSubject(value)) throw new InvalidArgumentError('It must be 32 lower-case hexadecimal digits.');
	return value;
}

const unitsMs: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000 };

function lifetimeMs(value: string): number {
	const [, number, unit = ''] = /^(\d{1,6})([smh])$/.exec(value) ?? [];
	const ms = Number(number) * (unitsMs[unit] ?? Number.NaN);
	if (!(ms >= 1000 && ms <= caskLifetimeMs))
		throw new InvalidArgumentError('It must be a time as 90s, 15m or 24h, at most 24h.');
	return ms;
}
