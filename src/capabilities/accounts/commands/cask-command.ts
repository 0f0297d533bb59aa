import { setTimeout as delay } from 'node:timers/promises';
import { type CaskSubject, issueCask } from '../../../core/access/cask.ts';
import { caskLifetimeMs } from '../../../core/domain/signing-key.ts';
import { OperatorError } from '../../../core/errors.ts';
import type { Store } from '../../../core/store/store.ts';
import { noteDone, nounCommand } from '../../../kit/cli/act-command.ts';
import { aidText, command } from '../../../kit/cli/command.ts';
import { visitorId } from '../../../kit/cli/flag-values.ts';
import { print } from '../../../kit/cli/output.ts';
import { durationIn } from '../../../kit/config.ts';
import * as casks from '../acts/cask-acts.ts';

const lifetimeMs = durationIn(
	'smh',
	caskLifetimeMs,
	'It must be a duration such as 90s, 15m or 24h, at most 24h.',
);

const issue = command('issue', 'issue a cask for a visitor or a visit')
	.description('Issue a cask for a visitor (--vid) or for one visit (--sid).')
	.argument('<aid>', aidText)
	.option('--vid <vid>', 'the visitor', visitorId)
	.conflicts('sid')
	.option('--sid <sid>', 'the visit', visitorId)
	.option(
		'--ttl <time>',
		'how long it is valid, for example 90s, 15m or 24h',
		lifetimeMs,
		caskLifetimeMs,
		'24h',
	)
	.onStore(async (store, options, aid) => {
		const cask = await newCask(store, aid, options);
		await noteDone(store, 'cask issued', aid, options.vid ?? options.sid);
		print(options, cask);
	});

export const caskCommand = nounCommand(
	'cask',
	'issue casks, rotate their signing key',
	`Manage casks. A cask gives access to the scores and segments of one visitor or one visit, for 24 hours at most.
Pages receive one with every hit. Operators can issue one for tests and support. Treat it as a secret: whoever holds
it may read.`,
	casks,
	[issue],
);

/** Long enough to wait for the end of the second. */
const maxWaitMs = 2000;

/** Issues a cask on an operator's behalf. */
export async function newCask(
	{ control, now }: Store,
	aid: string,
	{ vid, sid, ttl }: { readonly vid?: string; readonly sid?: string; readonly ttl: number },
): Promise<{ cask: string; expiresAt: string }> {
	const name = vid ?? sid;
	if (name === undefined)
		throw new OperatorError('Set --vid or --sid, to say what the cask gives access to.');
	const of: Omit<CaskSubject, 'aid'> = { scope: vid === undefined ? 'sid' : 'vid', subject: name };
	const { id } = await control.account(aid);
	const keys = await control.ensureSigningKeys();
	await outliveRevocation(await control.casksRevokedAtMs(id, name), now);
	const issued = issueCask(keys, { aid, ...of }, now(), ttl);
	return { cask: issued.cask, expiresAt: new Date(issued.expiresAtMs).toISOString() };
}

/**
 * Waits until the second of a revocation is over. Casks are dated in whole seconds, so one from that second would be
 * revoked too.
 */
async function outliveRevocation(revokedAtMs: number | undefined, now: () => number): Promise<void> {
	if (revokedAtMs === undefined) return;
	const fromMs = (Math.floor(revokedAtMs / 1000) + 1) * 1000;
	if (fromMs - now() > maxWaitMs)
		throw new OperatorError(
			`Casks for it are revoked until ${new Date(fromMs).toISOString()}: it was erased while a clock was ahead.`,
		);
	// A timer may end a little early.
	while (now() < fromMs) await delay(fromMs - now());
}
