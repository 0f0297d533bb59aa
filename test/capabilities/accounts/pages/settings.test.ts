import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { dayMs, minuteMs } from '../../../../src/core/durations.ts';
import { learnedCadences } from '../../../../src/kit/reading/payments.ts';
import { consoleHere } from '../../../assembly/console/here.ts';
import { faultsOf } from '../../../assembly/console/markup.ts';
import { startSite } from '../../../core/collect/browser.ts';
import {
	addAccount,
	enginesAboveContract,
	startWritingFor,
	subscriptionEvent,
	upload,
} from '../../../core/store/engines.ts';
import { eventually } from '../../../eventually.ts';

const operator = [{ aid: 'c-a-one', role: 'operator' } as const];
const solo = [{ aid: 'c-a-solo', role: 'operator' } as const];
const path = '/console/c-a-one/settings';
const soloPath = '/console/c-a-solo/settings';
const password = 'correct horse battery';

const settings = {
	action: 'account',
	timezone: 'Europe/London',
	currency: 'EUR',
	explains: 'on',
	channelRules: 'partner=*.partner.example/*\r\npodcast=*?*utm_source=pod*\r\n',
	origins: 'https://www.example.com',
	paymentProviders: 'pay.example.com',
	renewalDays: 'newsletter=30\r\nmagazine=90',
	graceDays: 'newsletter=21',
	cancellationEvt: 'goodbye',
	idTrust: 'signed',
};

for (const engine of enginesAboveContract)
	suite(`settings and webhooks in the console on ${engine.name}`, () => {
		test('settings tell how often that is taken to be paid which nobody has renewed yet', async (t) => {
			const { person, store, clock } = await consoleHere(t, engine);
			const olga = await person('olga@example.com', operator);
			const page = async () => (await olga.get(path)).body;
			assert.doesNotMatch(await page(), /Not renewed by anybody/);
			const { id } = await store.control.account('c-a-one');
			const writer = await startWritingFor(t, store);
			for (const daysAgo of [65, 35, 5])
				await upload(
					writer,
					id,
					[1, 2, 3, 4].map((n) => subscriptionEvent({ subid: `N-${n}` })),
					{ atMs: clock.now - daysAgo * dayMs },
				);
			await upload(writer, id, [subscriptionEvent({ evt: '<b>' })], { atMs: clock.now - dayMs });
			// As a server does from time to time.
			await store.control.setCadences(id, await store.read(id, learnedCadences(clock.now, null)));
			assert.match(
				await page(),
				/No renewal yet: &#39;&#60;b&#62;&#39; is assumed to be paid every 30 days, as others are\./,
			);
		});

		test('settings are changed, and what is wrong is told with the name of its field', async (t) => {
			const { person, store } = await consoleHere(t, engine);
			const olga = await person('olga@example.com', operator);
			assert.equal((await olga.post(path, settings)).status, 303);
			const account = await store.control.account('c-a-one');
			assert.equal(account.timezone, 'Europe/London');
			assert.equal(account.currency, 'EUR');
			assert.equal(account.explains, true);
			assert.deepEqual(account.channelRules, [
				{ channel: 'partner', pattern: '*.partner.example/*' },
				{ channel: 'podcast', pattern: '*?*utm_source=pod*' },
			]);
			assert.deepEqual(account.origins, ['https://www.example.com']);
			assert.deepEqual(account.paymentProviders, ['pay.example.com']);
			assert.deepEqual(account.renewalDays, { newsletter: 30, magazine: 90 });
			assert.deepEqual(account.graceDays, { newsletter: 21 });
			assert.equal(account.cancellationEvt, 'goodbye');
			assert.equal(account.idTrust, 'signed');
			const [entry] = await store.control.audit.list({ aid: 'c-a-one', limit: 1 });
			assert.deepEqual(
				[entry?.action, entry?.about],
				[
					'account updated',
					'origins, explains, channelRules, timezone, paymentProviders, renewalDays, graceDays, cancellationEvt, currency, idTrust',
				],
			);
			const { body } = await olga.get(path);
			assert.match(body, /<option>claimed<\/option><option selected>signed<\/option>/);
			assert.match(body, /trusted: all, so whoever guesses an id is taken for that customer/);
			assert.match(body, /name="currency" value="EUR" required/);
			assert.match(body, /partner=\*\.partner\.example\/\*\npodcast=/);
			for (const [wrong, message] of [
				[{ timezone: 'Mars' }, /“Time zone”: .*Mars/],
				[{ currency: 'money' }, /“Currency”/],
				[{ channelRules: 'partner' }, /“Your own channels” must be a channel and a pattern/],
				[{ origins: 'www.example.com' }, /“Origins” must be a web origin/],
				[{ paymentProviders: 'https://pay.example.com' }, /“Payment sites” must be a lower-case host/],
				[{ idTrust: 'everything' }, /“Believe ids from pages” must be one of claimed, signed, trusted/],
				[{ renewalDays: 'newsletter' }, /“Days between renewals” must be an event type/],
			] as const) {
				const fields = { ...settings, ...wrong } as Record<string, string>;
				const refused = await olga.post(path, fields);
				assert.equal(refused.status, 400, Object.keys(wrong).join());
				assert.match(refused.body, message);
			}
		});

		test('a form that is refused stands there as it was sent, with the reason; one that is done is said to be, once', async (t) => {
			const { person } = await consoleHere(t, engine);
			const olga = await person('olga@example.com', operator);
			const hostile = '"><b>Mars$&';
			const sent = { ...settings, timezone: hostile, graceDays: 'newsletter=5', idTrust: 'signed' };
			const { body, status } = await olga.post(path, sent);
			assert.equal(status, 400);
			assert.match(body, /<form [^>]*>\n<p class="problem" role="alert" tabindex="-1" autofocus>“Time zone”/);
			assert.deepEqual(await faultsOf(body), []);
			assert.match(body, /name="timezone" value="&#34;&#62;&#60;b&#62;Mars\$&#38;"/);
			assert.match(body, /<textarea [^>]*name="graceDays"[^>]*>newsletter=5</);
			assert.match(body, /<option selected>signed</);
			assert.match(body, /name="explains" checked/);
			assert.doesNotMatch(body, /name="tellsExperiments" checked/);
			const goal = await olga.post(`${path}?part=goals`, {
				action: 'create goal',
				name: 'no name',
				evt: 'a\nb',
			});
			assert.match(goal.body, /<details open><summary>Add a goal<.*name="name" value="no name".*>a\nb</s);

			const ada = await person('ada@example.com', [{ aid: null, role: 'admin' }]);
			const ownDatabase = 'postgres://caskade:PASSW0RD@db.internal/caskade';
			const account = { action: 'create', aid: 'c-a-new', client: 'new', currency: 'money', ownDatabase };
			const made = await ada.post('/console/accounts', { ...account, timezone: 'UTC' });
			assert.match(made.body, /“Currency”.*name="aid" value="c-a-new"/s);
			assert.doesNotMatch(made.body, /PASSW0RD/);

			assert.doesNotMatch((await olga.get(path)).body, /Done:/);
			assert.equal((await olga.post(path, settings)).status, 303);
			assert.match((await olga.get(path)).body, /role="status">Done: account updated\./);
			assert.doesNotMatch((await olga.get(path)).body, /Done:/);
		});

		test('stored amounts get another currency only from who writes it, and reads what it does', async (t) => {
			const { person, store } = await consoleHere(t, engine);
			const olga = await person('olga@example.com', operator);
			const { id } = await store.control.account('c-a-one');
			const writer = await startWritingFor(t, store);
			await upload(writer, id, [subscriptionEvent({ rvn: 499 })], { atMs: 1, requestId: 'r-1', keyId: 'k' });
			for (const confirm of ['', 'yes']) {
				const asked = await olga.post(path, { ...settings, confirm });
				assert.equal(asked.status, 403);
				assert.match(asked.body, /they would not be converted: 499, which is £4\.99, would be €4\.99\./);
				assert.equal((await store.control.account('c-a-one')).currency, 'GBP');
			}
			assert.equal((await olga.post(path, { ...settings, confirm: 'EUR' })).status, 303);
			assert.equal((await store.control.account('c-a-one')).currency, 'EUR');
			assert.equal((await olga.post(path, settings)).status, 303, 'the same currency asks nothing');
		});

		test('goals are added, changed and deleted', async (t) => {
			const { person, store } = await consoleHere(t, engine);
			const olga = await person('olga@example.com', operator);
			const { id } = await store.control.account('c-a-one');
			const goal = {
				name: 'trial',
				evt: 'trial\r\nsignup',
				counts: 'any',
				horizonDays: '14',
				bands: '40,80',
			};
			assert.equal((await olga.post(path, { action: 'create goal', ...goal })).status, 303);
			const find = async () => (await store.control.goals(id)).find(({ name }) => name === 'trial');
			assert.deepEqual(await find(), {
				name: 'trial',
				evts: ['trial', 'signup'],
				counts: 'any',
				horizonDays: 14,
				mediumFrom: 40,
				highFrom: 80,
			});
			const refused = await olga.post(path, { action: 'update goal', goal: 'trial', bands: '80,40' });
			assert.match(refused.body, /“Bands” must be two percentiles below 100/);
			await olga.post(path, { action: 'update goal', goal: 'trial', bands: '60,95' });
			assert.equal((await find())?.mediumFrom, 60);
			const unsure = await olga.post(path, { action: 'delete goal', goal: 'trial', again: 'trail' });
			assert.match(unsure.body, /write its name: trial/);
			await olga.post(path, { action: 'delete goal', goal: 'trial', again: 'trial' });
			assert.equal(await find(), undefined);
		});

		test('a key is shown once, takes a proof of who asks, and can be revoked', async (t) => {
			const { person, store, clock } = await consoleHere(t, engine);
			await addAccount(store, 'c-a-solo', 'solo');
			const olga = await person('olga@example.com', solo);
			await olga.post('/console/account', { action: 'password', new: password, again: password });
			const issue = { action: 'issue key', scope: 'read', plan: 'standard', name: 'shop', expiresIn: '30d' };
			const shown = await olga.post(soloPath, issue);
			assert.equal(shown.status, 200, 'by a link, a minute ago');
			const [key] = /caskade_key_[\w-]+/.exec(shown.body) as RegExpExecArray;
			const { client } = await store.control.account('c-a-solo');
			const find = async () => (await store.control.keys(client)).at(-1);
			const { id, name, expiresAt, scope } = (await find()) as NonNullable<Awaited<ReturnType<typeof find>>>;
			assert.deepEqual([name, scope, expiresAt], ['shop', 'read', '2026-12-21T10:00:00.000Z']);
			assert.equal((await olga.get(soloPath)).body.includes(key as string), false);

			clock.now += 15 * minuteMs;
			const count = async () => (await store.control.keys(client)).length;
			const before = await count();
			const asking = await olga.post(soloPath, issue);
			assert.equal(asking.status, 403);
			assert.match(asking.body, /Your password/);
			for (const [name, value] of Object.entries(issue))
				assert.ok(asking.body.includes(`name="${name}" value="${value}"`), `${name} is kept`);
			assert.match(
				(await olga.post(soloPath, { ...issue, password: 'a guess' })).body,
				/password is not right/,
			);
			assert.equal(await count(), before);
			assert.equal((await olga.post(soloPath, { ...issue, password })).status, 200);
			assert.equal(await count(), before + 1);

			assert.equal((await olga.post(soloPath, { action: 'revoke key', key: 'k_of_others' })).status, 400);
			const revoke = { action: 'revoke key', key: id, password };
			const unsure = await olga.post(soloPath, revoke);
			assert.equal(unsure.status, 403);
			assert.match(
				unsure.body,
				/for read, never used\) would be refused .* 1 other key of solo stays usable/s,
			);
			assert.equal((await olga.post(soloPath, { ...revoke, confirm: 'yes' })).status, 303);
			assert.ok((await store.control.keys(client)).find((one) => one.id === id)?.revokedAt);
			const actions = (await store.control.audit.list({ limit: 50 })).map(({ action }) => action);
			assert.deepEqual(
				actions.filter((action) => action.startsWith('key')),
				['key revoked', 'key issued', 'key issued'],
			);
		});

		test('the last usable key is revoked by its name, with its last use before the eyes', async (t) => {
			const { person, store } = await consoleHere(t, engine);
			await addAccount(store, 'c-a-solo', 'solo');
			const { id } = await store.control.issueKey('solo', 'standard', { name: 'billing' });
			const olga = await person('olga@example.com', solo);
			const isRevoked = async () => (await store.control.keys('solo'))[0]?.revokedAt !== null;
			const revoke = { action: 'revoke key', key: id };
			for (const confirm of ['', 'yes', 'bill']) {
				const { status, body } = await olga.post(soloPath, { ...revoke, confirm });
				assert.equal(status, 403);
				assert.match(body, /billing<\/bdi> \(.*, for upload, never used\)/);
				assert.match(body, /It is the last usable key of solo: nobody can upload/);
				assert.equal(await isRevoked(), false);
			}
			assert.equal((await olga.post(soloPath, { ...revoke, confirm: 'billing' })).status, 303);
			assert.equal(await isRevoked(), true);
		});

		test('a key takes the right on all accounts of the client; the plan is a choice of administrators', async (t) => {
			const { person, store } = await consoleHere(t, engine);
			await addAccount(store, 'c-a-solo', 'solo');
			const { client } = await store.control.account('c-a-solo');
			await store.control.createPlan({ ...(await store.control.plan('standard')), name: 'huge' });
			const issue = { action: 'issue key', scope: 'upload', plan: 'huge', name: '', expiresIn: '' };
			const olga = await person('olga@example.com', solo);
			const refused = await olga.post(soloPath, issue);
			assert.match(refused.body, /“Plan” must be one of standard/);
			const ada = await person('ada@example.com', [{ aid: null, role: 'admin' }]);
			assert.equal((await ada.post(soloPath, issue)).status, 200);
			await addAccount(store, 'c-a-three', client);
			const body = (await olga.post(soloPath, { ...issue, plan: 'standard' })).body;
			assert.match(body, /You are not an operator of all of them/);
			assert.match((await olga.get(`${soloPath}?part=keys`)).body, /You are not an operator of all of them/);
		});

		test('webhooks are added, tested, paused, resumed, rotated and deleted; a secret is shown once', async (t) => {
			const { person, store, clock, errors } = await consoleHere(t, engine);
			const hooks = '/console/c-a-one/webhooks';
			const received: string[] = [];
			const receiver = await startSite(t, (path) => {
				received.push(path);
				return '';
			});
			const olga = await person('olga@example.com', operator);
			const form = {
				url: `${receiver}/hooks`,
				events: 'segment.entered\r\nsegment.left',
				allowPrivate: 'on',
			};
			const refused = await olga.post(hooks, { action: 'create', ...form });
			assert.match(
				refused.body,
				/“URL” must begin with https.*; “Allow http.*” permits/,
				'only administrators may let it ask this machine',
			);
			const ada = await person('ada@example.com', [{ aid: null, role: 'admin' }]);
			const created = await ada.post(hooks, { action: 'create', ...form });
			const [secret] = /whsec_[\w+/=]+/.exec(created.body.replaceAll('&#43;', '+')) as RegExpExecArray;
			assert.equal(created.status, 200);
			const { id: account } = await store.control.account('c-a-one');
			const [webhook] = await store.control.webhooks(account);
			const id = webhook?.id as string;
			assert.equal((await store.control.webhook(account, id)).secret, secret);
			assert.equal((await olga.get(hooks)).body.includes(secret as string), false);

			const tested = await olga.post(hooks, { action: 'test', webhook: id });
			assert.deepEqual(errors, []);
			assert.match(tested.body, /has answered 200 after .*The test message is delivered/);
			assert.deepEqual(received, ['/hooks']);
			const page = (await olga.get(hooks)).body;
			assert.match(page, /webhook\.test/);
			assert.match(page, /<span class="good">delivered<\/span>/);
			assert.match((await olga.get(`${hooks}?failed=on`)).body, /No messages/);

			await olga.post(hooks, { action: 'disable', webhook: id });
			assert.match((await olga.get(hooks)).body, /disabled 2026-11-21.*somebody has disabled it/s);
			const again = await olga.post(hooks, { action: 'replay', webhook: id, since: '2026-11-21' });
			assert.match(again.body, /is disabled; enable it first/);
			await olga.post(hooks, { action: 'enable', webhook: id });
			const sent = await olga.post(hooks, { action: 'replay', webhook: id, since: '2026-11-21' });
			assert.match(sent.body, /Sent again: 1 message\./);
			await eventually('it waits', async () => /<span class="">waiting/.test((await olga.get(hooks)).body));

			const elsewhere = await startSite(t, () => 'a secret');
			for (const url of [`${elsewhere}/hooks`, receiver.replace('127.0.0.1', 'localhost')]) {
				const moved = await olga.post(hooks, { ...form, action: 'update', webhook: id, url });
				assert.match(moved.body, /“URL” must begin with https/, 'the permission is that of the origin');
			}
			assert.equal((await store.control.webhook(account, id)).url, `${receiver}/hooks`);
			const update = {
				...form,
				action: 'update',
				webhook: id,
				url: `${receiver}/other`,
				events: 'goal.reached',
			};
			assert.equal((await olga.post(hooks, update)).status, 303, 'it stays allowed to ask this machine');
			assert.equal((await store.control.webhook(account, id)).url, `${receiver}/other`);
			assert.match(
				(await olga.post(hooks, { ...update, events: 'nothing' })).body,
				/“Events” must be a list/,
			);
			clock.now += 15 * minuteMs;
			const stale = await olga.post(hooks, { action: 'rotate', webhook: id });
			assert.match(stale.body, /Confirm that it is you/);
			const fresh = await person('otto@example.com', operator);
			const rotated = await fresh.post(hooks, { action: 'rotate', webhook: id });
			assert.match(rotated.body, /whsec_/);
			assert.notEqual((await store.control.webhook(account, id)).secret, secret);
			const remove = { action: 'delete', webhook: id };
			assert.equal((await fresh.post(hooks, { ...remove, webhook: 'wh_of_others' })).status, 400);
			assert.match(
				(await fresh.post(hooks, remove)).body,
				/deleted for good, with its secret and all its messages/,
			);
			assert.equal((await fresh.post(hooks, { ...remove, confirm: id })).status, 303);
			assert.deepEqual(await store.control.webhooks(account), []);
			const none = (await olga.get(hooks)).body;
			assert.match(none, /No webhooks.*caskade webhook create c-a-one/s);
		});
	});
