import { minuteMs } from '../../../core/durations.ts';
import { counted } from '../../../core/format/numbers.ts';
import { runAct } from '../../../kit/act.ts';
import { commandLineUser, nounCommand, runCommand, withFields } from '../../../kit/cli/act-command.ts';
import { command } from '../../../kit/cli/command.ts';
import { print, printTable } from '../../../kit/cli/output.ts';
import { emailAddress } from '../../../kit/format/values.ts';
import { linkLifetimeMs } from '../access/sign-in.ts';
import * as people from '../acts/people-acts.ts';
import { endSessions, grantsInWords, makeLink, removeSecondFactor } from '../acts/people-acts.ts';

const list = command('list', 'list everybody, with their roles').onStore(async ({ control }, options) => {
	const people = await control.people.list();
	const sessions = Map.groupBy(await control.sessions.list(), ({ email }) => email);
	const shown = people.map(({ id: _, ...person }) => ({
		...person,
		lastUsedAt: sessions.get(person.email)?.[0]?.usedAt ?? null,
	}));
	print(options, shown, () =>
		printTable(
			shown.map((person) => ({ ...person, grants: grantsInWords(person.grants) || '-' })),
			"Nobody yet. 'caskade user create EMAIL --role admin' adds somebody.",
		),
	);
});

const link = withFields(command('link', makeLink.summary), makeLink.takes)
	.description(makeLink.description ?? '')
	.option('--remove-second-factor', 'also remove the second factor, because it is lost')
	.onStore(async (store, flags, ...args: unknown[]) => {
		const place = { store, account: undefined };
		if (flags.removeSecondFactor)
			await runAct(removeSecondFactor, commandLineUser(), place, { email: String(args[0]) });
		await runCommand(makeLink, store, undefined, { flags, args });
	});

const sessions = command('sessions', 'where a person is signed in')
	.description(
		"List where a person is signed in, or sign them out everywhere. 'usedAt' is recorded once an hour.",
	)
	.argument('<email>', 'address of the person', emailAddress)
	.option('--end', 'sign them out everywhere')
	.onStore(async (store, options, email) => {
		if (options.end) {
			const ended = await runAct(endSessions, commandLineUser(), { store, account: undefined }, { email });
			print(options, ended, `${counted(ended.ended, 'session')} of ${email} ended.`);
			return;
		}
		const open = (await store.control.sessions.list(email)).map(({ email: _, ...session }) => session);
		print(options, open, `${email} is not signed in.`);
	});

export const userCommand = nounCommand(
	'user',
	'who may use the console',
	`Manage who may use the console. Nobody is given a password: a person signs in by a link, once and within
${linkLifetimeMs / minuteMs} minutes, and then chooses one.

  viewer     figures about many visitors
  analyst    also single visitors, segments and exports
  operator   also keys, goals, models, webhooks, experiments and erasure
  admin      also people, plans and all accounts

Running servers apply a change within a second.`,
	people,
	[list, link, sessions],
);
