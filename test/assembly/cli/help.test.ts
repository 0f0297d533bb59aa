import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Command as CommanderCommand } from 'commander';
import { program } from '../../../src/assembly/cli/caskade.ts';
import { webhookEvents } from '../../../src/capabilities/webhooks/domain/webhook.ts';
import { assertMisused, caskade, emptyInstallation } from '../../process.ts';

/** Every command, with words that its help must have. */
const commands: Readonly<Record<string, RegExp>> = {
	'': /subscription events.*To let a client upload/,
	serve: /Run the service until SIGTERM or SIGINT/,
	account: /Clients upload to accounts/,
	'account create': /Add an account/,
	'account update': /left out keep their value/,
	'account identity-secret': /signs the customer and transaction ids/,
	'account list': /list accounts/,
	'account disable': /refuse uploads/,
	'account enable': /accept uploads/,
	'account delete': /asks for the account's name/,
	client: /owns accounts and keys/,
	'client list': /list clients/,
	'client disable': /Its keys get 403/,
	'client enable': /Unblock a disabled client/,
	'client delete': /no accounts and no usable keys/,
	plan: /hold the limits of keys/,
	'plan create': /Add a plan/,
	'plan update': /Change a plan/,
	'plan list': /list plans/,
	'plan delete': /no usable key is tied to/,
	key: /API keys/,
	'key issue': /Issue a key/,
	'key list': /recorded every five seconds/,
	'key revoke': /Revoke a key/,
	usage: /use of this month's quota/,
	segment: /visitors that match a rule/,
	webhook: /notified when visitors of an account change.*docs\/how-to\/webhooks\.md shows how to verify/,
	'webhook create': /shown only here/,
	'webhook list': /list the webhooks/,
	'webhook update': /the secret stays/,
	'webhook test': /print the answer/,
	'webhook rotate': /24 hours/,
	'webhook disable': /stop sending to a webhook/,
	'webhook enable': /send to a webhook again/,
	'webhook delete': /delete a webhook/,
	'webhook deliveries': /how their delivery went/,
	'webhook replay': /with the same ids/,
	user: /by a link, once.*also people, plans and all accounts/,
	'user create': /sign in once/,
	'user list': /with their roles/,
	'user link': /forgotten their password/,
	'user grant': /It replaces any role/,
	'user revoke': /Revoke a role/,
	'user sessions': /sign them out everywhere/,
	'user remove': /stays in the audit log/,
	'user disconnect-single-sign-on': /disconnect a person/,
	note: /charts over time/,
	'note add': /add a note to a day/,
	'note list': /latest written first/,
	'note remove': /remove a note/,
	audit: /kept for 400 days/,
	'audit list': /the latest first/,
	experiment: /held out.*docs\/how-to\/experiments\.md says/,
	'experiment create': /rule cannot change until/,
	'experiment list': /an account's experiments/,
	'experiment plan': /found in four of\s+five experiments/,
	'experiment stop': /all visitors get the segment again/,
	'segment create': /Add a segment/,
	'segment update': /What is left out stays/,
	'segment members': /matches a segment now/,
	'segment test': /Count the visitors that match a segment/,
	'segment list': /segments and their rules/,
	'segment delete': /delete a segment/,
	events: /stored subscription events/,
	goal: /scores predict/,
	'goal create': /Add a goal/,
	'goal update': /percentiles at which the bands of a goal begin/,
	'goal list': /an account's goals/,
	'goal delete': /delete a goal and its models/,
	model: /models that compute a goal's scores/,
	'model list': /how well each did on rows later/,
	'model show': /how it was judged/,
	'model use': /go back to an earlier one/,
	score: /nothing later is used/,
	backtest: /better than both/,
	train: /judged on a later period than they learned from/,
	cask: /Treat it as a secret/,
	'cask issue': /Issue a cask/,
	'cask rotate': /with a new key/,
	visitor: /a request to be forgotten/,
	'visitor find': /List the visitors whose hits have shown/,
	'visitor show': /Print a visitor's profile/,
	'visitor export': /a request for access/,
	'visitor erase': /cannot be undone/,
	'visitor erase-again': /whom the backup has brought back/,
	'visitor rebuild': /from the log of hits/,
	import: /Import an account's history from files/,
	upload: /Upload a file of subscription events/,
	export: /in the form that 'caskade import' takes/,
	report: /what each channel is credited with/,
	subscription: /at risk while a renewal may still come/,
	'subscription list': /by when they began/,
	'subscription show': /payments, refunds and the state/,
	spend: /was spent on channels/,
	'spend import': /replaces what was stored/,
	backup: /To restore/,
	restore: /The list of erasures stays/,
	copy: /Copy all clients, accounts, plans, keys, usage, events, hits and visitors/,
	migrate: /newest schema/,
	doctor: /integrity and schema of every database/,
	status: /how long it has run/,
	demo: /generated visitors of a small shop/,
};

/** All commands, by their names as they are typed. */
async function allCommands(): Promise<Map<string, CommanderCommand>> {
	const found = new Map<string, CommanderCommand>();
	const add = (path: readonly string[], command: CommanderCommand) => {
		found.set(path.join(' '), command);
		for (const subcommand of command.commands) add([...path, subcommand.name()], subcommand);
	};
	add([], await program());
	return found;
}

function helpOf(name: string) {
	return caskade([...name.split(' ').filter(Boolean), '--help']);
}

test("every command's help describes it", async () => {
	const known = await allCommands();
	for (const [name, words] of Object.entries(commands)) {
		const { code, stdout, stderr } = await helpOf(name);
		assert.equal(code, 0, name);
		assert.equal(stderr, '', name);
		const text = stdout.replace(/\s+/g, ' ');
		// What follows the line of usage, so that a name of a flag does not pass for a description.
		assert.match(
			text.slice(text.indexOf(' ', 'Usage: caskade'.length)).split(' Options: ')[0] as string,
			new RegExp(words, 'i'),
			name,
		);
		for (const { flags, mandatory } of (known.get(name) as CommanderCommand).options)
			if (mandatory) assert.match(text, new RegExp(`${flags}[^-]+ .*?\\(required\\)`), `${name} ${flags}`);
	}
});

test('no command is missing from this file', async () => {
	assert.deepEqual([...(await allCommands()).keys()].sort(), Object.keys(commands).sort());
});

/** The width of help that is not printed on a terminal. */
const columns = 80;

test("every command's help is wrapped: no tab, no line broken in the middle", async () => {
	for (const name of (await allCommands()).keys()) {
		const { stdout } = await helpOf(name);
		assert.doesNotMatch(stdout, /\t/, name);
		for (const [page] of stdout.matchAll(/docs\/[a-z/-]+\.md/g))
			assert.ok(existsSync(join(import.meta.dirname, '../../..', page)), `${name}: ${page}`);
		const lines = stdout.split('\n').slice(1);
		for (const [index, line] of lines.entries()) {
			const next = lines[index + 1] ?? '';
			const isProse = (text: string) => /^\S/.test(text) && !/^[A-Z]\w+:$/.test(text);
			if (isProse(line) && isProse(next))
				assert.ok(line.length + 1 + (next.split(' ')[0] as string).length > columns, `${name}: ${line}`);
			if (isProse(line)) assert.ok(line.length <= columns, `${name}: ${line}`);
		}
		assert.doesNotMatch(stdout, /preset:/, name);
	}
});

test('settings can be set in the environment, and docs/reference/configuration.md lists exactly these', async () => {
	const settings = new Set(['CASKADE_KEY']);
	for (const [name, command] of await allCommands())
		for (const { envVar, long } of command.options) {
			if (envVar === undefined) continue;
			assert.equal(envVar, `CASKADE_${long?.slice(2).toUpperCase().replaceAll('-', '_')}`, name);
			settings.add(envVar);
		}
	const page = readFileSync(join(import.meta.dirname, '../../../docs/reference/configuration.md'), 'utf8');
	const rows = [...page.matchAll(/^\| (?:`(--[a-z-]+)[^`]*`)? ?\| `(CASKADE_[A-Z_]+)` \|/gm)];
	assert.deepEqual(rows.map(([, , variable]) => variable).sort(), [...settings].sort());
	for (const [, flag, variable] of rows)
		if (flag) assert.equal(variable, `CASKADE_${flag.slice(2).toUpperCase().replaceAll('-', '_')}`);
	for (const [variable] of page.matchAll(/CASKADE_[A-Z_]+/g)) assert.ok(settings.has(variable), variable);
});

test('every update refuses a call that changes nothing, and names what it could change', async (t) => {
	const at = await emptyInstallation(t);
	const updates = [...(await allCommands())].filter(([name]) => name.endsWith(' update'));
	assert.ok(updates.length >= 5);
	for (const [name, command] of updates) {
		const flags = command.options.filter(({ envVar, negate }) => envVar === undefined && !negate);
		const args = command.registeredArguments.map(() => 'some-name');
		const { stderr, code } = await caskade([...name.split(' '), ...args, ...at]);
		assert.equal(code, 1, name);
		assert.match(stderr, /^caskade: There is nothing to change: set [^\n]+\.\n$/, name);
		for (const { long } of flags) assert.ok(stderr.includes(` ${long}`), `${name} ${long}`);
	}
});

test('what a command acts on has no variable', async () => {
	/** Flags that are settings, and the only commands that have them, where not all may. */
	const settingsOf: Readonly<Record<string, readonly string[]>> = {
		'account create': ['--own-database'],
		upload: ['--url', '--key-file'],
		'visitor erase': ['--erasure-list'],
		'visitor erase-again': ['--erasure-list'],
		doctor: ['--erasure-list'],
		status: ['--erasure-list'],
		'user create': ['--console-url'],
		'user link': ['--console-url'],
	};
	for (const [name, command] of await allCommands()) {
		if (name === 'serve') continue;
		const common = ['--database', '--stage', '--json'];
		const found = command.options.flatMap(({ envVar, long }) => (envVar && long ? [long] : []));
		assert.deepEqual(
			found.filter((flag) => !common.includes(flag)),
			settingsOf[name] ?? [],
			name,
		);
	}
});

test('a command line that is wrong is told in one line, which says where to read what is right', async () => {
	const cases: readonly (readonly [string, string])[] = [
		['nonsense', "unknown command 'nonsense'. See 'caskade --help'."],
		['key isue', "unknown command 'isue'. Did you mean issue? See 'caskade key --help'."],
		['usage --nonsense', "unknown option '--nonsense'. See 'caskade usage --help'."],
		['--json doctor', "unknown option '--json'. Options follow the command, as in 'caskade status --json'."],
		['backup', "<dir> is missing. See 'caskade backup --help'."],
		[
			'backup a b',
			"too many arguments for 'backup'. Expected 1 argument but got 2. See 'caskade backup --help'.",
		],
		['key issue', "--client <name> is missing. See 'caskade key issue --help'."],
		[
			'segment create c-a-acme-uk id',
			"--name <text> and --rule <cel> are missing. See 'caskade segment create --help'.",
		],
		['account create --client acme', "<aid> is missing. See 'caskade account create --help'."],
		[
			'visitor show c-a-acme-uk abc',
			"'abc' is invalid as <vid>. It must be 32 lower-case hexadecimal digits. See 'caskade visitor show --help'.",
		],
		[
			'serve --port x',
			"'x' is invalid as --port. It must be a whole number from 0 to 65535. See 'caskade serve --help'.",
		],
	];
	for (const [typed, said] of cases) {
		const ended = await caskade(typed.split(' '));
		assert.equal(ended.stderr, `caskade: ${said}\n`);
		assertMisused(ended, /./);
	}
	const { stderr } = await caskade(['usage'], { CASKADE_PORT: 'x', CASKADE_JSON: 'maybe' });
	assert.equal(stderr, 'caskade: CASKADE_JSON must be true or false.\n');
});

test('an example is one line, and what is long in a list stays in its column', async () => {
	const { stdout } = await helpOf('account update');
	assert.match(stdout, /\n {2}caskade account update [^\n]+ 'podcast=[^\n]+'\n/);
	assert.match((await helpOf('report')).stdout, /\n {2}summary +paying [^\n]+\n {17}ago\n {2}act/);
});

test('the help of webhooks names every message', async () => {
	const { stdout } = await helpOf('webhook');
	for (const name of [...webhookEvents, 'segments.recomputed']) assert.ok(stdout.includes(name), name);
});

test('without a command there is the help, on standard error', async () => {
	const bare = await caskade([]);
	assert.deepEqual({ code: bare.code, stdout: bare.stdout }, { code: 1, stdout: '' });
	assert.match(bare.stderr, /^Usage: caskade/);
});
