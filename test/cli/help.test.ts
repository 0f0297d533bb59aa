import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { assertMisused, caskade } from '../process.ts';

/** Every command, with words that its help must have. */
const commands: Readonly<Record<string, RegExp>> = {
	'': /subscription events.*To let a client upload/,
	serve: /Run the service until SIGTERM or SIGINT/,
	account: /Clients upload to accounts/,
	'account create': /Add an account/,
	'account update': /left out keep their value/,
	'account list': /list accounts/,
	'account disable': /refuse uploads/,
	'account enable': /accept uploads/,
	client: /owns accounts and keys/,
	'client list': /list clients/,
	'client disable': /Its keys get 403/,
	'client enable': /Unblock a disabled client/,
	plan: /hold the limits of keys/,
	'plan create': /Add a plan/,
	'plan update': /Change a plan/,
	'plan list': /list plans/,
	key: /API keys/,
	'key issue': /Issue a key/,
	'key list': /list keys/,
	'key revoke': /Revoke a key/,
	usage: /use of this month's quota/,
	segment: /visitors that match a rule/,
	webhook: /notified when visitors of an account change/,
	'webhook create': /shown only here/,
	'webhook list': /list the webhooks/,
	'webhook test': /print the answer/,
	'webhook rotate': /24 hours/,
	'webhook disable': /stop sending to a webhook/,
	'webhook enable': /send to a webhook again/,
	'webhook delete': /delete a webhook/,
	'webhook deliveries': /how their delivery went/,
	'webhook replay': /with the same ids/,
	'segment create': /Add a segment/,
	'segment test': /Count the visitors that match a segment/,
	'segment list': /segments and their rules/,
	'segment delete': /delete a segment/,
	events: /stored subscription events/,
	goal: /whose probability is scored/,
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
	'visitor show': /Print a visitor's profile/,
	'visitor export': /a request for access/,
	'visitor erase': /cannot be undone/,
	'visitor rebuild': /from the log of hits/,
	import: /Import an account's history from files/,
	upload: /Upload a file of subscription events/,
	export: /as 'caskade import' takes them/,
	report: /what each channel is credited with/,
	spend: /was spent on channels/,
	'spend import': /is replaced/,
	backup: /To restore/,
	copy: /Copy all clients, accounts, plans, keys, usage, events, hits and visitors/,
	migrate: /newest schema/,
	doctor: /integrity and schema of every database/,
	demo: /generated visitors of a small shop/,
};

test("every command's help describes it and names the environment variable of every flag", async () => {
	const helps = Object.keys(commands).map((name) => caskade([...name.split(' ').filter(Boolean), '--help']));
	for (const [index, { code, stdout, stderr }] of (await Promise.all(helps)).entries()) {
		const [name, words] = Object.entries(commands)[index] as [string, RegExp];
		assert.equal(code, 0, name);
		assert.equal(stderr, '', name);
		const text = stdout.replace(/\s+/g, ' ');
		// What follows the line of usage, so that a name of a flag does not pass for a description.
		assert.match(
			text.slice(text.indexOf(' ', 'Usage: caskade'.length)).split(' Options: ')[0] as string,
			words,
			name,
		);
		for (const flag of stdout.match(/(?<=^ +(?:-\w, )?--)[a-z-]+/gm) ?? []) {
			if (flag === 'help' || flag === 'version') continue;
			assert.ok(
				text.includes(`env: CASKADE_${flag.toUpperCase().replaceAll('-', '_')})`),
				`${name} --${flag}`,
			);
		}
	}
});

test('no command is missing from this file', async () => {
	const listed = async (command: readonly string[]) => {
		const { stdout } = await caskade([...command, '--help']);
		const names = [...(stdout.split('Commands:\n')[1] ?? '').matchAll(/^ {2}([a-z]+)/gm)].map(
			(match) => match[1],
		);
		return names.filter((name) => name !== 'help');
	};
	const first = await listed([]);
	const second = await Promise.all(
		first.map(async (name) => (await listed([name as string])).map((sub) => `${name} ${sub}`)),
	);
	assert.deepEqual(['', ...first, ...second.flat()].sort(), Object.keys(commands).sort());
});

test('--version is the version of the package', async () => {
	const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8'));
	assert.equal((await caskade(['--version'])).stdout, `${version}\n`);
});

test('an unknown command or flag is an error, with no help on standard output', async () => {
	assertMisused(await caskade(['nonsense']), /unknown command 'nonsense'/);
	assertMisused(await caskade(['usage', '--nonsense']), /unknown option '--nonsense'/);
	assertMisused(await caskade(['backup']), /missing required argument 'dir'/);
	const bare = await caskade([]);
	assert.deepEqual({ code: bare.code, stdout: bare.stdout }, { code: 1, stdout: '' });
	assert.match(bare.stderr, /^Usage: caskade/);
});
