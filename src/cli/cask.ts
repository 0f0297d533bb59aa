import { setTimeout as delay } from 'node:timers/promises';
import { InvalidArgumentError, Option } from 'commander';
import { type CaskSubject, issueCask } from '../access/cask.ts';
import { isSubject } from '../domain/cask-scope.ts';
import { caskLifetimeMs, keyPropagationMs } from '../domain/signing-key.ts';
import { hourMs, minuteMs } from '../durations.ts';
import { OperatorError } from '../errors.ts';
import type { Store } from '../store/store.ts';
import { aidArgument } from './aid-argument.ts';
import { Command } from './command.ts';
import { type CommonOptions, print } from './output.ts';

interface IssueOptions extends CommonOptions {
	readonly vid?: string;
	readonly sid?: string;
	readonly ttl: number;
}

export function caskCommand(): Command {
	const command = new Command('cask').summary('issue casks, rotate their signing key').description(
		`Manage casks. A cask gives access to the scores and segments of one visitor or one visit, for 24 hours at most.
	Pages receive one with every hit. Operators can issue one for tests and support. Treat it as a secret: whoever holds
	it may read.`,
	);
	command
		.command('issue')
		.summary('issue a cask for a visitor or a visit')
		.description('Issue a cask for a visitor (--vid) or for one visit (--sid).')
		.addArgument(aidArgument())
		.addOption(new Option('--vid <vid>', 'the visitor').argParser(subject).conflicts('sid'))
		.addOption(new Option('--sid <sid>', 'the visit').argParser(subject))
		.addOption(
			new Option('--ttl <time>', 'how long it is valid, for example 90s, 15m or 24h')
				.argParser(lifetimeMs)
				.default(caskLifetimeMs, '24h'),
		)
		.onStore(async (store, options: IssueOptions, aid: string) => {
			const issued = await issue(store, aid, options);
			print(options, issued);
		});
	command
		.command('rotate')
		.summary('sign with a new key from now on')
		.description(
			`Sign casks with a new key from now on. Casks signed with earlier keys stay valid until they expire, so pages
			notice nothing. To revoke a visitor's casks at once, erase the visitor. To revoke an account's, disable it.`,
		)
		.onStore(async (store, options) => {
			const { kid, createdAtMs } = await store.control.rotateSigningKeys();
			const signsFrom = new Date(createdAtMs + keyPropagationMs).toISOString();
			print(
				options,
				{ kid, signsFrom },
				`Key ${kid} signs from ${signsFrom}. Earlier casks stay valid until they expire.`,
			);
		});
	return command;
}

/** Long enough to wait for the end of the second. */
const maxWaitMs = 2000;

/** Issues a cask on an operator's behalf. */
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
	if (!of) throw new OperatorError('Set --vid or --sid, to say what the cask gives access to.');
	const { id } = await control.account(aid);
	const keys = await control.ensureSigningKeys();
	await outliveRevocation(await control.casksRevokedAtMs(id, of.subject), now);
	const { cask, expiresAtMs } = issueCask(keys, { aid, ...of }, now(), ttl);
	return { cask, expiresAt: new Date(expiresAtMs).toISOString() };
}

/**
 * Waits until the second of a revocation is over. Casks are dated in whole seconds, so one from that second would be
 * revoked too.
 */
async function outliveRevocation(revokedAtMs: number | undefined, now: () => number): Promise<void> {
	if (revokedAtMs === undefined) return;
	const fromMs = (Math.floor(revokedAtMs / 1000) + 1) * 1000;
	const waitMs = fromMs - now();
	if (waitMs > maxWaitMs)
		throw new OperatorError(
			`Casks for it are revoked until ${new Date(fromMs).toISOString()}: it was erased while a clock was ahead.`,
		);
	// A timer may end a little early.
	while (now() < fromMs) await delay(fromMs - now());
}

function subject(value: string): string {
	if (!isSubject(value)) throw new InvalidArgumentError('It must be 32 lower-case hexadecimal digits.');
	return value;
}

const unitsMs: Readonly<Record<string, number>> = { s: 1000, m: minuteMs, h: hourMs };

function lifetimeMs(value: string): number {
	const [, number, unit = ''] = /^(\d{1,6})([smh])$/.exec(value) ?? [];
	const ms = Number(number) * (unitsMs[unit] ?? Number.NaN);
	if (!(ms >= 1000 && ms <= caskLifetimeMs))
		throw new InvalidArgumentError('It must be a duration such as 90s, 15m or 24h, at most 24h.');
	return ms;
}
