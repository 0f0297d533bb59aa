import assert from 'node:assert/strict';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { commandLineUser } from '../../../../src/kit/cli/act-command.ts';
import {
	assertMisused,
	assertRefused,
	caskade,
	caskadeJson,
	caskadeProcess,
	emptyInstallation,
} from '../../../process.ts';
import { takesLong } from '../../../quick.ts';
import { temporaryFolder } from '../../../support.ts';

test('account create adds an account, and its client if it is new', async (t) => {
	const at = ['--database', `sqlite:${temporaryFolder(t)}`];
	const uk = (await caskadeJson(['account', 'create', 'c-a-acme-uk', '--client', 'acme', ...at])) as object;
	const { createdAt, ...rest } = uk as { createdAt: string };
	assert.ok(Math.abs(Date.parse(createdAt) - Date.now()) < 60_000);
	assert.deepEqual(rest, {
		aid: 'c-a-acme-uk',
		client: 'acme',
		origins: [],
		explains: false,
		tellsExperiments: false,
		channelRules: [],
		timezone: 'UTC',
		paymentProviders: [],
		renewalDays: {},
		graceDays: {},
		cancellationEvt: null,
		currency: 'GBP',
		idTrust: 'claimed',
		disabledAt: null,
		ownDatabase: null,
	});
	const us = await caskadeJson(['account', 'create', 'c-a-acme-us', '--client', 'acme', ...at]);
	assert.deepEqual(await caskadeJson(['account', 'list', ...at]), [uk, us]);
});

test('account create takes every setting that it shows', async (t) => {
	const at = ['--database', `sqlite:${temporaryFolder(t)}`];
	const settings = ['--timezone', 'Europe/London', '--explain', '--payment-provider', 'pay.example.com'];
	settings.push(
		'--renewal-days',
		'newsletter=30',
		'a gift, or two=365',
		'--grace-days',
		'newsletter=21',
		'--cancellation-evt',
		'goodbye',
		'--currency',
		'EUR',
		'--id-trust',
		'signed',
	);
	const rule = { channel: 'partner', pattern: '*.partner.example/*' };
	const channels = ['--channel', `${rule.channel}=${rule.pattern}`];
	const created = await caskadeJson([
		...['account', 'create', 'c-a-x', '--client', 'x', ...settings, ...channels, ...at],
	]);
	const { createdAt: _, ...shown } = created as { createdAt: string };
	assert.deepEqual(shown, {
		aid: 'c-a-x',
		client: 'x',
		origins: [],
		explains: true,
		tellsExperiments: false,
		channelRules: [rule],
		timezone: 'Europe/London',
		paymentProviders: ['pay.example.com'],
		renewalDays: { newsletter: 30, 'a gift, or two': 365 },
		graceDays: { newsletter: 21 },
		cancellationEvt: 'goodbye',
		currency: 'EUR',
		idTrust: 'signed',
		disabledAt: null,
		ownDatabase: null,
	});
	assert.deepEqual(await caskadeJson(['account', 'list', ...at]), [created]);
	assertRefused(
		await caskade(['account', 'create', 'c-a-y', '--client', 'x', '--timezone', 'London', ...at]),
		/London/,
	);
});

test('a channel rule that no address could match is refused', async (t) => {
	const at = ['--database', `sqlite:${temporaryFolder(t)}`];
	const create = (pattern: string) =>
		caskade(['account', 'create', 'c-a-x', '--client', 'x', '--channel', `partner=${pattern}`, ...at]);
	for (const pattern of [
		...['https://partner.example/*', 'HTTP://partner.example/*', 'partner.example', '/blog/*'],
		...['*?ref=our partner*', 'büro.example/*'],
	])
		assertMisused(
			await create(pattern),
			/The pattern must be of addresses as browsers write them, without https/,
		);
	assert.equal((await create(' partner.example/ ')).code, 0);
});

test('account create keeps web origins', async (t) => {
	const at = ['--database', `sqlite:${temporaryFolder(t)}`];
	const origins = ['https://www.example.com', 'http://localhost:3000', 'http://[::1]:3000'];
	const flags = origins.flatMap((origin) => ['--origin', origin]);
	const account = await caskadeJson(['account', 'create', 'c-a-x', '--client', 'x', ...flags, ...at]);
	assert.deepEqual((account as { origins: string[] }).origins, origins);
	const wrong = [
		'https://www.example.com/',
		'www.example.com',
		'ftp://example.com',
		'*',
		'https://*.example.com',
	];
	const refused = wrong.map((origin) =>
		caskade(['account', 'create', 'c-a-y', '--client', 'x', '--origin', origin, ...at]),
	);
	for (const ended of await Promise.all(refused)) assertMisused(ended, /must be a web origin/);
});

test('without --json the output is text', async (t) => {
	const at = await emptyInstallation(t);
	assert.match(
		(await caskade(['account', 'list', ...at])).stdout,
		/^No accounts yet\. 'caskade account create/,
	);
	assert.deepEqual(await caskadeJson(['account', 'list', ...at]), []);
	const { stdout } = await caskade(['account', 'create', 'c-a-x', '--client', 'x', ...at]);
	assert.match(
		stdout,
		/^aid +c-a-x\nclient +x\norigins +-\nexplains +false\ntellsExperiments +false\nchannelRules +-\ntimezone +UTC\npaymentProviders +-\nrenewalDays +-\ngraceDays +-\ncancellationEvt +-\ncurrency +GBP, 2 decimals\nidTrust +claimed\ncreatedAt +\S+Z\ndisabledAt +-\nownDatabase +-\n$/,
	);
	assert.match((await caskade(['account', 'list', ...at])).stdout, /^aid +client .*\nc-a-x +x +-.*\n$/);
});

test('an account that exists, or does not, is refused', async (t) => {
	const at = ['--database', `sqlite:${temporaryFolder(t)}`];
	await caskade(['account', 'create', 'c-a-x', '--client', 'x', ...at]);
	assertRefused(
		await caskade(['account', 'create', 'c-a-x', '--client', 'y', ...at]),
		/Account c-a-x exists already/,
	);
	assertRefused(await caskade(['account', 'disable', 'c-a-y', ...at]), /There is no account c-a-y/);
	assert.equal(((await caskadeJson(['account', 'list', ...at])) as unknown[]).length, 1);
});

test('names with a meaning to a file system or a shell are refused, and nothing is created', async (t) => {
	const folder = temporaryFolder(t);
	const at = ['--database', `sqlite:${join(folder, 'data')}`];
	const wrong = ['../c-a-x', 'c a x', '', '.c-a-x', 'c-a-\u00e4', `c${'x'.repeat(64)}`];
	const refused = wrong.map((aid) => caskade(['account', 'create', aid, '--client', 'x', ...at]));
	for (const ended of await Promise.all(refused)) assertMisused(ended, /is invalid/);
	assertMisused(await caskade(['account', 'create', 'c-a-x', '--client', 'a/b', ...at]), /is invalid/);
	assertMisused(await caskade(['account', 'create', 'c-a-x', ...at]), /--client <name> is missing/);
	assert.deepEqual(readdirSync(folder), []);
});

test('account update changes only the given settings', async (t) => {
	const at = ['--database', `sqlite:${temporaryFolder(t)}`];
	const created = await caskadeJson(['account', 'create', 'c-a-x', '--client', 'x', ...at]);
	const update = (...flags: string[]) => caskadeJson(['account', 'update', 'c-a-x', ...flags, ...at]);
	const channelRules = [
		{ channel: 'partner', pattern: '*.partner.example/*' },
		{ channel: 'podcast', pattern: '*?*utm_source=pod*' },
	];
	const flags = channelRules.map(({ channel, pattern }) => `${channel}=${pattern}`);
	const changed = { ...(created as object), explains: true, channelRules };
	assert.deepEqual(await update('--explain', '--channel', ...flags), changed);
	const origins = ['https://www.example.com', 'https://shop.example.com'];
	assert.deepEqual(await update('--origin', ...origins), { ...changed, origins });
	assert.match((await caskade(['account', 'list', ...at])).stdout, /partner=\*\.partner\.example/);
	assert.deepEqual(await update('--no-explain', '--no-channel', '--no-origin'), created);
	assert.deepEqual(await caskadeJson(['account', 'list', ...at]), [created]);
});

test('account update is in the audit log with the settings that changed, without their values', async (t) => {
	const at = ['--database', `sqlite:${temporaryFolder(t)}`];
	await caskade(['account', 'create', 'c-a-x', '--client', 'x', ...at]);
	const update = ['account', 'update', 'c-a-x'];
	await caskade([...update, '--id-trust', 'signed', '--origin', 'https://shop.example.com', ...at]);
	await caskade([...update, '--id-trust', 'signed', ...at]);
	await caskade([...update, '--timezone', 'Nowhere/Never', ...at]);
	const audit = (await caskadeJson(['audit', 'list', '--account', 'c-a-x', ...at])) as object[];
	const entry = { who: commandLineUser(), action: 'account updated', aid: 'c-a-x' };
	assert.deepEqual(
		audit.map((one) => ({ ...one, at: undefined })),
		[
			{ ...entry, about: null, at: undefined },
			{ ...entry, about: 'origins, idTrust', at: undefined },
		],
	);
});

test('account update refuses invalid settings, and changes nothing', async (t) => {
	const at = ['--database', `sqlite:${temporaryFolder(t)}`];
	const created = await caskadeJson(['account', 'create', 'c-a-x', '--client', 'x', ...at]);
	const update = (...flags: string[]) => caskade(['account', 'update', ...flags, ...at]);
	assertRefused(
		await update('c-a-x'),
		/nothing to change: set --origin, --explain, --experiments, --channel, --timezone, --payment-provider, --renewal-days, --grace-days, --cancellation-evt, --currency, --id-trust or --relabel-amounts\.$/m,
	);
	assertRefused(await update('c-a-y', '--explain'), /There is no account c-a-y/);
	for (const rule of ['partner', 'partner=', '=*.partner.example', 'a\tb=c'])
		assertMisused(await update('c-a-x', '--channel', rule), /must be a channel and a pattern/);
	assertMisused(await update('c-a-x', '--origin', 'example.com'), /must be a web origin/);
	assert.deepEqual(await caskadeJson(['account', 'list', ...at]), [created]);
});

test('account update gives stored amounts another currency only where it is told that it was theirs all along', async (t) => {
	const at = await emptyInstallation(t);
	const create = await caskadeJson(['account', 'create', 'c-a-x', '--client', 'x', ...at]);
	const update = (...flags: string[]) => ['account', 'update', 'c-a-x', ...flags, ...at];
	const currency = async () =>
		((await caskadeJson(['account', 'list', ...at])) as [{ currency: string }])[0].currency;
	assert.deepEqual(await caskadeJson(update('--currency', 'EUR')), {
		...(create as object),
		currency: 'EUR',
	});
	const spent = join(temporaryFolder(t), 'spent.csv');
	writeFileSync(spent, 'day,channel,pence\n2026-01-31,paid search,499\n');
	await caskadeJson(['spend', 'import', 'c-a-x', spent, ...at]);
	assertRefused(
		await caskade(update('--currency', 'JPY', '--explain')),
		/^caskade: c-a-x has amounts stored, and they would not be converted: 499, which is €4\.99, would be JP¥499\. If they were in JPY all along, add --relabel-amounts\. Otherwise create another account for JPY\. Nothing is changed\.$/m,
	);
	assert.equal(await currency(), 'EUR');
	await caskadeJson(update('--currency', 'EUR', '--explain'));
	assertRefused(await caskade(update('--relabel-amounts')), /goes with --currency/);
	await caskadeJson(update('--currency', 'JPY', '--relabel-amounts'));
	assert.equal(await currency(), 'JPY');
	const imported = await caskade(['spend', 'import', 'c-a-x', spent, ...at]);
	assert.equal(imported.stdout, '1 row of spending, JP¥499 in all.\n');
	writeFileSync(spent, 'day,channel,pence\n2026-01-31,paid search,4.99\n');
	assertRefused(
		await caskade(['spend', 'import', 'c-a-x', spent, ...at]),
		/pence must be a whole number of JPY\./,
	);
});

test('account disable and enable', async (t) => {
	const at = ['--database', `sqlite:${temporaryFolder(t)}`];
	const disabledAt = async (action: string) =>
		((await caskadeJson(['account', action, 'c-a-x', ...at])) as { disabledAt: string | null }).disabledAt;
	await caskade(['account', 'create', 'c-a-x', '--client', 'x', ...at]);
	const since = await disabledAt('disable');
	assert.match(String(since), /^\d{4}-.*Z$/);
	assert.equal(await disabledAt('disable'), since);
	assert.equal(await disabledAt('enable'), null);
});

test('of 5 commands that create the same account at once, one does', { skip: takesLong }, async (t) => {
	const at = ['--database', `sqlite:${temporaryFolder(t)}`];
	const commands = Array.from({ length: 5 }, () =>
		caskadeProcess(['account', 'create', 'c-a-x', '--client', 'x', ...at]),
	);
	const ended = await Promise.all(commands);
	assert.equal(ended.filter(({ code }) => code === 0).length, 1);
	for (const refused of ended.filter(({ code }) => code !== 0)) assertRefused(refused, /exists already/);
	assert.equal(((await caskadeJson(['account', 'list', ...at])) as unknown[]).length, 1);
});

test('account identity-secret shows the secret that signs ids, and replaces it; the audit says so, without it', async (t) => {
	const at = await emptyInstallation(t);
	await caskadeJson(['account', 'create', 'c-a-x', '--client', 'x', ...at]);
	const secretOf = async (...flags: string[]) => {
		const shown = await caskadeJson(['account', 'identity-secret', 'c-a-x', ...flags, ...at]);
		return (shown as { identitySecret: string }).identitySecret;
	};
	const secret = await secretOf();
	assert.match(secret, /^caskade_identity_[\w-]{43}$/);
	assert.equal(await secretOf(), secret);
	const next = await secretOf('--rotate');
	assert.notEqual(next, secret);
	assert.equal(await secretOf(), next);
	const audit = (await caskadeJson(['audit', 'list', '--account', 'c-a-x', ...at])) as { action: string }[];
	assert.deepEqual(
		audit.map(({ action }) => action),
		['shown', 'rotated', 'shown', 'shown'].map((what) => `identity secret ${what}`),
	);
	for (const text of [JSON.stringify(audit), (await caskade(['account', 'list', ...at])).stdout])
		for (const one of [secret, next]) assert.equal(text.includes(one), false);
});
