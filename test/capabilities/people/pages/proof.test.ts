import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newTotpSecret, stepAt, totpCode } from '../../../../src/capabilities/people/access/second-factor.ts';
import { newLoginLink } from '../../../../src/capabilities/people/access/sign-in.ts';
import { endSessions, removeUser } from '../../../../src/capabilities/people/acts/people-acts.ts';
import { minuteMs } from '../../../../src/core/durations.ts';
import { acting } from '../../../../src/kit/console/act-form.ts';
import { demandOf, type PageRequest } from '../../../../src/kit/console/page.ts';
import { Browser, consoleUrl } from '../../../assembly/console/browser.ts';
import { type ConsoleHere, consoleHere } from '../../../assembly/console/here.ts';
import { base32 } from '../../../base32.ts';
import { enginesAboveContract } from '../../../core/store/engines.ts';
import { allPages } from '../../../pages.ts';

const admin = [{ aid: null, role: 'admin' } as const];
const password = 'correct horse battery';
const asking = /Confirm that it is you/;

/** Every act of the console, from its pages themselves. */
const acts = allPages.flatMap((page) => [
	...(page.get ? [{ page, act: 'get' }] : []),
	...Object.keys(page.actions ?? {}).map((act) => ({ page, act })),
]);

test('what a page does without saying what it takes, takes a proof, and so does what asks first', () => {
	const run = async () => undefined;
	const page = { path: 'p', title: 'P', right: null, actions: { export: run } };
	assert.equal(demandOf(page, 'export'), 'proof');
	for (const { page } of acts)
		for (const act of Object.keys(page.questions ?? {})) assert.equal(demandOf(page, act), 'proof', act);
});

/** Pages that take a proof to look at, and actions that are no acts and take none. */
test('what takes more to look at, and less to do, is known', () => {
	assert.deepEqual(
		acts
			.filter(({ page, act }) =>
				act === 'get' ? demandOf(page, act) !== 'session' : page.demands?.[act] === 'session',
			)
			.map(({ page, act }) => `${page.path} ${act}`)
			.sort(),
		[
			':aid/events/:tid/:file get',
			':aid/scores/models train',
			':aid/subscriptions/:file get',
			':aid/visitors/:vid/:file get',
			'system doctor',
		],
	);
});

/** What hands out access or data, or cannot be undone: as docs/reference/console.md promises it. */
const promised: Readonly<Record<string, string>> = {
	account: 'password, offer, codes, remove second factor, connect single sign-on, disconnect single sign-on',
	people: 'create',
	'people/:email': 'grant, revoke, link, remove second factor, disconnect single sign-on, remove',
	':aid/settings': 'account, delete goal, issue key, revoke key',
	':aid/webhooks': 'create, update, rotate, replay, delete',
	':aid/visitors/:vid': 'export',
	':aid/visitors/:vid/:file': 'get, download',
	':aid/visitors/:vid/erase': 'erase',
	':aid/customers/:cid': 'export',
	':aid/customers/:cid/erase': 'erase',
	':aid/events/:tid/:file': 'get, download',
	':aid/subscriptions/:file': 'get, download',
};

test('what hands out access or data of persons, or cannot be undone, takes a proof', () => {
	for (const [path, names] of Object.entries(promised))
		for (const name of names.split(', ')) {
			const found = acts.find(({ page, act }) => page.path === path && act === name);
			assert.ok(found, `${path} ${name}`);
			assert.notEqual(demandOf(found.page, name), 'session', `${path} ${name}`);
		}
});

/** Something for each named part of a path. */
const parts: Readonly<Record<string, string>> = {
	email: 'bob@example.com',
	file: 'timeline.json',
	vid: '0'.repeat(32),
	tid: 'T-1',
	cid: 'customer-1',
};

const addressOf = (path: string, aid = 'c-a-one') =>
	`/console/${path.replace(/^:aid/, aid).replaceAll(/:(\w+)/g, (_, name) => encodeURIComponent(parts[name] ?? 'x'))}`;

/** Does an act with what names its object. */
async function attempt(browser: Browser, { page, act }: (typeof acts)[number], fields = {}, aid?: string) {
	const address = addressOf(page.path, aid);
	if (act === 'get') return browser.get(address);
	return browser.post(address, { action: act, ...fields });
}

/** An account with a key and a webhook, and somebody whom acts are about. */
async function start(here: ConsoleHere) {
	const { store } = here;
	const { id } = await store.control.account('c-a-one');
	const { client } = await store.control.account('c-a-one');
	const key = await store.control.issueKey(client, 'standard', { name: 'billing' });
	const settings = { events: ['segment.entered'], withCid: false, allowPrivate: false } as const;
	const webhook = await store.control.createWebhook(id, { ...settings, url: 'https://crm.example/hooks' });
	await here.link('bob@example.com', [{ aid: 'c-a-one', role: 'viewer' }]);
	const everything = async () =>
		JSON.stringify([
			await store.control.people.list(),
			await store.control.keys(client),
			await store.control.webhooks(id),
			await store.control.account('c-a-one'),
			(await store.control.audit.list({ limit: 1000 })).filter(
				({ action }) => !/viewed|signed in|^refused|^wrong/.test(action),
			),
		]);
	return { fields: { key: key.id, webhook: webhook.id }, everything };
}

/** Somebody who has signed in, in each way. */
const signedIn: Readonly<Record<string, (here: ConsoleHere) => Promise<Browser>>> = {
	async 'by a link, long ago'(here) {
		const browser = await here.person('ada@example.com', admin);
		here.clock.now += 15 * minuteMs;
		return browser;
	},
	async 'by a password, just now'(here) {
		const first = await here.person('ada@example.com', admin);
		await first.post('/console/account', { action: 'password', new: password, again: password });
		const browser = new Browser(here.console);
		await browser.post('/console/sign-in', { email: 'ada@example.com', password });
		await browser.get('/console/account');
		return browser;
	},
	async 'by a password and a second factor, long ago'(here) {
		const browser = await signedIn['by a password, just now']?.(here);
		const { id } = await here.store.control.people.find('ada@example.com');
		await here.store.control.people.offerSecondFactor(id, newTotpSecret());
		await here.store.control.people.useStep(id, stepAt(here.clock.now));
		here.clock.now += 15 * minuteMs;
		return browser as Browser;
	},
	async 'by a link just now, and the cookie was stolen'(here) {
		const ada = await here.person('ada@example.com', admin);
		const thief = new Browser(here.console, '198.51.100.7', 'Mozilla/5.0 (Windows NT 10.0) Chrome/150.0');
		for (const [name, value] of ada.cookies) thief.cookies.set(name, value);
		await thief.get('/console/account');
		return thief;
	},
};

for (const engine of enginesAboveContract)
	for (const [how, enter] of Object.entries(signedIn))
		test(`who has signed in ${how} is asked for a proof by every act that takes one, on ${engine.name}`, async (t) => {
			const here = await consoleHere(t, engine);
			const { fields, everything } = await start(here);
			const browser = await enter(here);
			const before = await everything();
			for (const one of acts.filter(({ page, act }) => demandOf(page, act) !== 'session')) {
				const what = `${one.page.path} ${one.act}`;
				// As if what cannot be undone had been agreed to, and with proofs that are none.
				for (const guess of [
					{},
					{ password: 'a wrong password', code: '000000', link: 'x'.repeat(43) },
					{ confirm: fields.webhook },
					{ confirm: 'billing' },
					{ confirm: 'bob@example.com' },
				]) {
					const { status, body } = await attempt(browser, one, { ...fields, ...guess });
					assert.equal(status, 403, what);
					assert.match(body, asking, what);
					assert.doesNotMatch(body, /[Ss]ign out,? and in/, what);
				}
			}
			assert.equal(await everything(), before, 'nothing was changed, handed out or noted');
			assert.deepEqual(here.errors, []);
			for (const one of acts.filter(({ page, act }) => demandOf(page, act) === 'session'))
				assert.doesNotMatch(
					(await attempt(browser, one, fields)).body,
					asking,
					`${one.page.path} ${one.act}`,
				);
		});

for (const engine of enginesAboveContract)
	test(`another role, and a foreign account, cannot do any of it even with a proof, on ${engine.name}`, async (t) => {
		const here = await consoleHere(t, engine);
		const { fields, everything } = await start(here);
		const others = {
			viewer: await here.person('vera@example.com', [{ aid: 'c-a-one', role: 'viewer' }]),
			foreigner: await here.person('olga@example.com', [{ aid: 'c-a-two', role: 'operator' }]),
		};
		const before = await everything();
		for (const one of acts.filter(
			({ page, act }) => demandOf(page, act) !== 'session' && page.right !== null,
		))
			for (const [who, browser] of Object.entries(others)) {
				const { status, body } = await attempt(browser, one, fields);
				const expected = who === 'viewer' || one.page.right === 'administer' ? 403 : 404;
				assert.equal(status, expected, `${who} ${one.page.path} ${one.act}`);
				assert.match(body, /Your role does not allow this|This page does not exist/);
			}
		assert.equal(await everything(), before);
		const refused = await here.store.control.audit.list({ who: 'vera@example.com', limit: 100 });
		assert.ok(refused.some(({ action, aid }) => action === 'refused: Settings' && aid === 'c-a-one'));
	});

for (const engine of enginesAboveContract)
	test(`a proof is a password, a code, or a fresh link of one's own, each asked in place, on ${engine.name}`, async (t) => {
		const here = await consoleHere(t, engine);
		const { store, clock } = here;
		const ada = await here.person('ada@example.com', admin);
		await here.link('eve@example.com', admin);
		const linkOf = async (email: string) =>
			(await newLoginLink(store.control, await store.control.people.find(email), consoleUrl)).link;
		const make = (name: string, proof = {}) =>
			ada.post('/console/people', {
				action: 'create',
				email: `${name}@example.com`,
				role: 'viewer',
				...proof,
			});
		clock.now += 15 * minuteMs;

		const asked = await make('one');
		assert.match(asked.body, /name="email" value="one@example\.com"/, 'what was typed is kept');
		assert.match(asked.body, /caskade user link ada@example\.com/);
		assert.match((await make('one', { link: await linkOf('eve@example.com') })).body, /not yours/);
		const link = await linkOf('ada@example.com');
		assert.equal((await make('one', { link })).status, 200);
		assert.match((await make('two', { link })).body, /was used before/);

		const set = { action: 'password', new: password, again: password };
		const first = await ada.post('/console/account', set);
		assert.equal(first.status, 403, 'a first password is itself a thing to prove');
		assert.doesNotMatch(first.body, new RegExp(password));
		assert.equal(
			(await ada.post('/console/account', { ...set, link: await linkOf('ada@example.com') })).status,
			303,
		);
		assert.equal(
			(await make('two', { link: await linkOf('ada@example.com') })).status,
			403,
			'now it is the password',
		);
		assert.equal((await make('two', { password })).status, 200);

		const offered = await ada.post('/console/account', { action: 'offer', password });
		assert.match(offered.body, /otpauth/);
		assert.doesNotMatch((await ada.get('/console/account')).body, /otpauth/);
		const secret = (await store.control.people.credentials('ada@example.com'))?.totpSecret;
		const code = () => {
			clock.now += 30_000;
			return totpCode(base32(secret as string), stepAt(clock.now));
		};
		assert.equal((await ada.post('/console/account', { action: 'prove', code: code() })).status, 200);
		assert.equal((await make('three', { password })).status, 403, 'now it is the second factor');
		assert.equal((await make('three', { code: code() })).status, 200);
	});

for (const engine of enginesAboveContract)
	test(`a file of a person that takes a proof is given to the form that asks for it, on ${engine.name}`, async (t) => {
		const here = await consoleHere(t, engine);
		const ada = await signedIn['by a password, just now']?.(here);
		const address = '/console/c-a-one/subscriptions/subscriptions.csv?period=all';
		const asked = await ada?.get(address);
		assert.equal(asked?.status, 403);
		assert.match(
			String(asked?.body),
			/action="\/console\/c-a-one\/subscriptions\/subscriptions\.csv\?period=all"/,
		);
		assert.match(String(asked?.body), /name="action" value="download"/);
		// Figures are not made here, so it goes as far as to ask for them.
		const given = await ada?.post(address, { action: 'download', password });
		assert.doesNotMatch(String(given?.body), asking);
	});

for (const engine of enginesAboveContract)
	test(`an action cannot do more than what it says takes, on ${engine.name}`, async (t) => {
		const run = async ({ act, person }: PageRequest) => void (await act(removeUser, { email: person.email }));
		const page = { path: 'odd', title: 'Odd', right: null, actions: { less: acting(endSessions, run) } };
		const here = await consoleHere(t, engine, { pages: [page] });
		await here.link('bob@example.com', admin);
		const ada = await here.person('ada@example.com', admin);
		here.clock.now += 15 * minuteMs;
		assert.equal((await ada.post('/console/odd', { action: 'less' })).status, 500);
		assert.equal((await here.store.control.people.list()).length, 2);
		assert.match(String(here.errors), /odd does user remove for less than that takes/);
	});
