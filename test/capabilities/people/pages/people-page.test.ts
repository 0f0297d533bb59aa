import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import jsQR from 'jsqr';
import { stepAt, totpCode } from '../../../../src/capabilities/people/access/second-factor.ts';
import { newLoginLink } from '../../../../src/capabilities/people/access/sign-in.ts';
import { minuteMs } from '../../../../src/core/durations.ts';
import { Browser, consoleUrl } from '../../../assembly/console/browser.ts';
import { consoleHere } from '../../../assembly/console/here.ts';
import { base32 } from '../../../base32.ts';
import { enginesAboveContract } from '../../../core/store/engines.ts';
import { type OidcProvider, startOidcProvider } from '../../../oidc.ts';
import { quick } from '../../../quick.ts';

const admin = [{ aid: null, role: 'admin' } as const];
const email = 'ada@example.com';
const password = 'correct horse battery';

const actions = async (here: Awaited<ReturnType<typeof consoleHere>>) =>
	(await here.store.control.audit.list({ limit: 50 }))
		.map(({ who, action }) => `${who}: ${action}`)
		.reverse();

for (const engine of enginesAboveContract)
	suite(`people in the console on ${engine.name}`, () => {
		test('a link shows a button, and the button signs in once', async (t) => {
			const here = await consoleHere(t, engine, { makesReports: true });
			const link = await here.link(email, admin);
			const filter = new Browser(here.console);
			for (let count = 0; count < 3; count++) {
				const { status, body, headers } = await filter.get(link);
				assert.equal(status, 200);
				assert.match(body, /signs you in once, as <strong>ada@example\.com/);
				assert.equal(headers['cache-control'], 'no-store');
				assert.equal(headers['referrer-policy'], 'no-referrer');
			}
			assert.equal(filter.cookies.size, 0);
			const ada = new Browser(here.console);
			const { status, location, headers } = await ada.open(link);
			assert.deepEqual([status, location], [303, '/console/']);
			const overview = await ada.whole('/console/c-a-one/');
			assert.match(overview.body, /have no password yet\. <a href="\/console\/account">Set one<\/a>/);
			assert.match(
				String(headers['set-cookie']),
				/^__Host-caskade=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Secure;/,
			);
			const again = await filter.open(link);
			assert.equal(again.status, 410);
			assert.match(again.body, /was used before, or is older than 15 minutes/);
			assert.equal((await filter.get(link)).status, 410);
			assert.deepEqual(here.errors, []);
		});

		test('a link that waited for a quarter of an hour is refused', async (t) => {
			const here = await consoleHere(t, engine);
			const link = await here.link(email, admin);
			here.clock.now += 15 * minuteMs;
			assert.equal((await new Browser(here.console).get(link)).status, 410);
			assert.equal((await new Browser(here.console).open(link)).status, 410);
		});

		test('a password is set, signs in, leads to the page that was asked for, and is changed by the old one', async (t) => {
			const here = await consoleHere(t, engine);
			const ada = await here.person(email, admin);
			const set = (browser: Browser, fields: Record<string, string>) =>
				browser.post('/console/account', { action: 'password', ...fields });
			assert.match((await set(ada, { new: 'short', again: 'short' })).body, /12 to 256 characters/);
			assert.match(
				(await set(ada, { new: password, again: `${password}x` })).body,
				/two new passwords differ/,
			);
			assert.equal((await set(ada, { new: password, again: password })).status, 303);

			const other = new Browser(here.console);
			assert.equal(
				(await other.get('/console/c-a-one/')).location,
				'/console/sign-in?to=%2Fconsole%2Fc-a-one%2F',
			);
			assert.match(
				(await other.get('/console/sign-in?to=%2Fconsole%2Fc-a-one%2F')).body,
				/name="to" value="\/console\/c-a-one\/"/,
			);
			const sent = await other.post('/console/c-a-one/settings', { action: 'account' });
			assert.equal(sent.location, '/console/sign-in?to=%2Fconsole%2Fc-a-one%2Fsettings&unsent=1');
			const unsent = (await other.get(sent.location as string)).body;
			assert.match(unsent, /no longer signed in, so what you sent was not done/);
			assert.match(unsent, /name="to" value="\/console\/c-a-one\/settings"/);
			const to = '/console/c-a-one/';
			const wrong = await other.post('/console/sign-in', { email, password: 'a wrong password', to });
			assert.equal(wrong.status, 401);
			assert.match(wrong.body, /address or the password is not right/);
			const right = await other.post('/console/sign-in', { email: ' Ada@Example.com ', password, to });
			assert.deepEqual([right.status, right.location], [303, to]);
			for (const evil of [
				'https://evil.example/',
				'//evil.example',
				'/\\evil.example',
				'javascript:alert(1)',
				'/console/../../evil',
				'/console/%2e%2e/evil',
				'/console/x/../sign-in',
			])
				assert.equal(
					(await other.post('/console/sign-in', { email, password, to: evil })).location,
					'/console/',
				);

			// So many guesses at one name have to wait.
			here.clock.monotonicMs += 10 * minuteMs;
			await other.get('/console/account');
			const next = 'another horse battery';
			const refused = await set(other, { password: 'a wrong password', new: next, again: next });
			assert.deepEqual([refused.status, /The password is not right/.test(refused.body)], [403, true]);
			assert.doesNotMatch(refused.body, new RegExp(next), 'no page repeats a password');
			assert.equal((await set(other, { password, new: next, again: next })).status, 303);
			assert.equal((await ada.get('/console/account')).status, 303, 'signed out everywhere else');
			assert.equal((await other.get('/console/account')).status, 200);
		});

		test('guesses are limited by name and by address', async (t) => {
			const here = await consoleHere(t, engine);
			await here.person(email, admin);
			const guess = (name: string, address: string) =>
				new Browser(here.console, address).post('/console/sign-in', {
					email: name,
					password: 'a wrong password',
				});
			for (let count = 0; count < 10; count++)
				assert.equal((await guess(email, `192.0.2.${count}`)).status, 401);
			const { status, headers, body } = await guess(email, '192.0.2.99');
			assert.deepEqual([status, headers['retry-after']], [429, '60']);
			assert.match(body, /Too many attempts\. Try again in 60 s/);
			assert.equal((await guess('bob@example.com', '192.0.2.99')).status, 401);
			// Those by address are in the store's contract, too, and each takes a hash.
			if (quick) return;
			for (let count = 0; count < 30; count++) await guess(`u${count}@example.com`, '198.51.100.1');
			assert.equal((await guess('bob@example.com', '198.51.100.1')).status, 429);
		});

		test('a second factor is set up, asked for, and each code is good once; recovery codes stand in', async (t) => {
			const here = await consoleHere(t, engine);
			const ada = await here.person(email, admin);
			const act = (browser: Browser, action: string, fields = {}) =>
				browser.post('/console/account', { action, ...fields });
			await act(ada, 'password', { new: password, again: password });
			const { body } = await act(ada, 'offer');
			assert.doesNotMatch((await ada.get('/console/account')).body, /otpauth/, 'it is shown once');
			const [, secret = ''] =
				/otpauth:\/\/totp\/Caskade:ada%40example\.com\?secret=([A-Z2-7]{32})&#38;issuer/.exec(body) ?? [];
			assert.notEqual(secret, '');
			assert.equal(scanned(body), `otpauth://totp/Caskade:ada%40example.com?secret=${secret}&issuer=Caskade`);
			const code = () => totpCode(base32(secret), stepAt(here.clock.now));
			assert.match(
				(await act(ada, 'prove', { code: '000000' })).body,
				/code is not right, or was used before/,
			);
			const proved = await act(ada, 'prove', { code: code() });
			assert.equal(proved.status, 200);
			const codes = [...proved.body.matchAll(/<code>([a-z2-7-]{19})<\/code>/g)].map(([, text = '']) => text);
			assert.equal(codes.length, 10);
			assert.doesNotMatch((await ada.get('/console/account')).body, new RegExp(codes[0] as string));

			const enter = async (browser: Browser) => {
				const page = await browser.post('/console/sign-in', { email, password });
				assert.equal(browser.cookies.size, 0, 'a password is not enough');
				return /name="second" value="([^"]+)"/.exec(page.body)?.[1] as string;
			};
			const other = new Browser(here.console);
			const second = await enter(other);
			const replayed = await other.post('/console/sign-in', { second, code: code() });
			assert.deepEqual([replayed.status, /used before/.test(replayed.body)], [401, true]);
			here.clock.now += 30_000;
			assert.equal((await other.post('/console/sign-in', { second, code: code() })).status, 303);
			assert.equal((await other.get('/console/account')).status, 200);
			const third = new Browser(here.console);
			const answer = await third.post('/console/sign-in', {
				second: await enter(third),
				code: codes[3] as string,
			});
			assert.equal(answer.status, 303);
			assert.match((await third.get('/console/account')).body, /9 recovery codes are left/);
			const fourth = new Browser(here.console);
			const used = await fourth.post('/console/sign-in', {
				second: await enter(fourth),
				code: codes[3] as string,
			});
			assert.equal(used.status, 401);

			const link = await newLoginLink(
				here.store.control,
				await here.store.control.people.find(email),
				consoleUrl,
			);
			const fifth = new Browser(here.console);
			const asksForCode = (await fifth.open(link.link)).body;
			assert.match(asksForCode, /six digits/, 'a link takes a second factor, too');
			assert.match(
				asksForCode,
				/user link EMAIL --remove-second-factor/,
				'and says what to do where it is lost',
			);
			assert.equal((await act(third, 'remove second factor', { code: '000000' })).status, 403);
			here.clock.now += 30_000;
			assert.equal((await act(third, 'remove second factor', { code: code() })).status, 303);
			assert.equal(
				(await new Browser(here.console).post('/console/sign-in', { email, password })).status,
				303,
			);
		});

		test('a form from elsewhere, or with the token of another, changes nothing', async (t) => {
			const here = await consoleHere(t, engine);
			const ada = await here.person(email, admin);
			const bob = await here.person('bob@example.com', admin);
			const fields = { action: 'create', email: 'eve@example.com', role: 'admin' };
			const elsewhere: readonly Record<string, string>[] = [
				{ 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' },
				{ 'sec-fetch-site': 'same-site', origin: 'https://shop.example.com' },
				{ 'sec-fetch-site': 'none' },
				{ origin: 'https://evil.example' },
				{ origin: 'null' },
				{ host: 'console.example.com' },
				{},
			];
			for (const headers of elsewhere) {
				assert.equal(
					(await ada.post('/console/people', fields, headers)).status,
					403,
					JSON.stringify(headers),
				);
				const signIn = await ada.post('/console/sign-in', { email, password }, headers);
				assert.equal(signIn.status, 403);
				assert.equal((await ada.post('/console/sign-out', {}, headers)).status, 403);
			}
			for (const token of ['', 'x', bob.token])
				assert.equal((await ada.post('/console/people', { ...fields, token })).status, 403);
			assert.equal((await here.store.control.people.list()).length, 2);
			assert.equal((await ada.post('/console/people', fields, { origin: consoleUrl })).status, 200);
		});

		test('a session is over when it is ended here, elsewhere, or by an administrator', async (t) => {
			const here = await consoleHere(t, engine);
			const ada = await here.person(email, admin);
			const stolen = new Browser(here.console);
			for (const [name, value] of ada.cookies) stolen.cookies.set(name, value);
			assert.equal((await stolen.get('/console/account')).status, 200);
			assert.equal((await ada.post('/console/sign-out', {})).location, '/console/sign-in');
			assert.equal(ada.cookies.size, 0);
			assert.equal((await stolen.get('/console/account')).status, 303);
			assert.equal(
				(await stolen.post('/console/people', { action: 'create', email: 'x@example.com', role: 'admin' }))
					.status,
				303,
			);

			const bob = await here.person('bob@example.com', admin);
			const eve = await here.person('eve@example.com', [{ aid: 'c-a-one', role: 'viewer' }]);
			const page = '/console/people/eve%40example.com';
			const [, id = ''] = /name="session" value="(\w+)"/.exec((await bob.get(page)).body) ?? [];
			assert.equal((await bob.post(page, { action: 'end session', session: '' })).status, 303);
			assert.equal((await eve.get('/console/account')).status, 200);
			assert.equal((await bob.post(page, { action: 'end session', session: id })).status, 303);
			assert.equal((await eve.get('/console/account')).status, 303);
		});

		test('who signs in again in the same browser has one session', async (t) => {
			const here = await consoleHere(t, engine);
			const ada = await here.person(email, admin);
			await ada.open(await here.link('bob@example.com', admin));
			assert.deepEqual(
				(await here.store.control.sessions.list()).map((session) => session.email),
				['bob@example.com'],
			);
		});

		test('an administrator adds people, gives and takes roles, and the last one stays', async (t) => {
			const here = await consoleHere(t, engine);
			const ada = await here.person(email, admin);
			const bob = 'bob@example.com';
			const made = await ada.post('/console/people', {
				action: 'create',
				email: bob,
				role: 'viewer',
				account: 'c-a-one',
			});
			assert.equal(made.status, 200);
			const [, link = ''] = /<code class="secret">([^<]+)<\/code>/.exec(made.body) ?? [];
			const browser = new Browser(here.console);
			await browser.open(link);
			assert.equal((await browser.get('/console/c-a-two/')).status, 404);
			const page = `/console/people/${encodeURIComponent(bob)}`;
			const act = (action: string, fields = {}) => ada.post(page, { action, ...fields });
			assert.match((await act('grant', { role: 'admin', account: 'c-a-two' })).body, /one of all accounts/);
			assert.match(
				(await act('grant', { role: 'root' })).body,
				/“Role” must be one of viewer, analyst, operator, admin\./,
			);
			assert.equal((await act('anything')).status, 400);
			assert.equal((await act('grant', { role: 'analyst', account: 'c-a-two' })).status, 303);
			assert.notEqual((await browser.get('/console/c-a-two/')).status, 404);
			await act('revoke', { account: 'c-a-two' });
			assert.equal((await browser.get('/console/c-a-two/')).status, 404);
			const own = `/console/people/${encodeURIComponent(email)}`;
			for (const fields of [
				{ action: 'remove', confirm: email },
				{ action: 'revoke' },
				{ action: 'grant', role: 'viewer' },
			])
				assert.match((await ada.post(own, fields)).body, /This is the last admin/, fields.action);
			assert.match(
				(await act('remove')).body,
				/bob@example\.com<\/bdi> \(viewer of c-a-one\) would be removed/,
			);
			await act('remove', { confirm: bob });
			assert.equal((await browser.get('/console/account')).status, 303);
			assert.match((await ada.get(page)).body, /There is no user bob@example\.com/);
			assert.deepEqual(await actions(here), [
				`${email}: signed in by link`,
				`${email}: user created`,
				`${bob}: signed in by link`,
				`${email}: refused: user grant`,
				`${email}: role given: analyst of c-a-two`,
				`${email}: role revoked on c-a-two`,
				`${email}: refused: user remove`,
				`${email}: refused: user revoke`,
				`${email}: refused: user grant`,
				`${email}: user removed`,
			]);
			const log = await ada.get('/console/audit?about=bob%40example.com');
			assert.equal([...log.body.matchAll(/<td>bob@example\.com<\/td>/g)].length, 5);
		});

		test('names that are markup are shown as text', async (t) => {
			const here = await consoleHere(t, engine);
			const ada = await here.person(email, admin);
			await ada.post('/console/people', { action: 'create', email: 'a&b=cmd()@example.com', role: 'viewer' });
			assert.match((await ada.get('/console/people')).body, /a&#38;b=cmd\(\)@example\.com/);
			const { body } = await ada.get('/console/audit?user=%22%3E%3Cscript%3E');
			assert.doesNotMatch(body, /<script(?! type="module" src="\/console\/)/);
		});

		test('the first page has a card for each account, the one that was opened last first; of one account it is that', async (t) => {
			const here = await consoleHere(t, engine, { makesReports: true });
			const ada = await here.person(email, [
				{ aid: 'c-a-one', role: 'viewer' },
				{ aid: 'c-a-two', role: 'viewer' },
			]);
			const cards = async (browser: Browser) => {
				const { body } = await browser.whole('/console/');
				assert.match(body, /Nothing has come in during the last 28 days\./);
				return [...body.matchAll(/<h2><a href="\/console\/([^/]+)\/">/g)].map(([, aid]) => aid);
			};
			assert.deepEqual(await cards(ada), ['c-a-one', 'c-a-two']);
			await ada.get('/console/c-a-two/notes');
			assert.deepEqual(await cards(ada), ['c-a-two', 'c-a-one']);
			const other = new Browser(here.console);
			await other.open(
				(await newLoginLink(here.store.control, await here.store.control.people.find(email), consoleUrl))
					.link,
			);
			assert.deepEqual(await cards(other), ['c-a-two', 'c-a-one'], 'in every browser');
			await here.store.control.people.revoke(email, ['c-a-two']);
			await here.directory.refresh();
			assert.equal((await ada.get('/console/')).location, '/console/c-a-one/');
		});

		test('plain http is for this machine alone', async (t) => {
			const url = 'http://127.0.0.1:8081';
			const here = await consoleHere(t, engine, { consoleUrl: url });
			const ask = (address: string, isSecure: boolean, isByLoopback = false) =>
				here.console.answer({
					method: 'GET',
					path: '/console/sign-in',
					query: '',
					form: '',
					headers: {},
					address,
					isSecure,
					isByLoopback,
				});
			assert.equal((await ask('127.0.0.1', false, true)).status, 200);
			assert.equal(
				(await ask('127.0.0.1', false)).status,
				403,
				'through a proxy of this machine, by its name',
			);
			assert.equal((await ask('172.17.0.1', false, true)).status, 200, 'a published port of a container');
			const refused = await ask('192.0.2.1', false);
			assert.equal(refused.status, 403);
			assert.match(
				refused.body,
				/Plain http.*ssh -N -L 8081:127\.0\.0\.1:8081.*--behind-proxy.*--console-url/s,
			);
			assert.equal((await ask('192.0.2.1', true)).status, 200);
		});

		suite('single sign-on', () => {
			const start = async (t: Parameters<typeof consoleHere>[0]) => {
				const provider = await startOidcProvider(t, `${consoleUrl}/console/sign-in/return`);
				const { issuer, clientId, clientSecret } = provider;
				const here = await consoleHere(t, engine, { sso: { issuer, clientId, clientSecret } });
				return { here, provider };
			};
			const pass = async (browser: Browser, provider: OidcProvider, subject: string, query = '') => {
				const sent = await browser.get(`/console/sign-in/sso${query}`, { 'sec-fetch-site': 'same-origin' });
				const back = await provider.signIn(sent.location as string, subject);
				return browser.get(back.href, { 'sec-fetch-site': 'cross-site' });
			};
			const connect = async (browser: Browser, provider: OidcProvider, subject: string) => {
				const { body } = await browser.post('/console/account', { action: 'connect single sign-on' });
				const [, address = ''] = /<a href="(http[^"]+)">Go on to/.exec(body) ?? [];
				const back = await provider.signIn(address.replaceAll('&#38;', '&'), subject);
				return browser.get(back.href, { 'sec-fetch-site': 'cross-site' });
			};

			test('who has connected it signs in by it, whatever their mail address becomes; nobody else does', async (t) => {
				const { here, provider } = await start(t);
				provider.addresses.set('42', email);
				const stranger = await pass(new Browser(here.console), provider, '42');
				assert.equal(stranger.status, 403, 'the same address is not enough');
				assert.match(stranger.body, /No user here is linked to this identity/);
				const ada = await here.person(email, admin);
				assert.equal((await connect(ada, provider, '42')).location, '/console/account');
				assert.match((await ada.get('/console/account')).body, /You may sign in through 127\.0\.0\.1/);
				const other = new Browser(here.console);
				assert.equal(
					(await pass(other, provider, '42', '?to=%2Fconsole%2Fc-a-one%2F')).location,
					'/console/c-a-one/',
				);
				provider.addresses.set('42', 'ada@example.org').set('43', email);
				const later = new Browser(here.console);
				await pass(later, provider, '42');
				assert.match((await later.get('/console/account')).body, /signed in as <strong>ada@example\.com/);
				assert.equal((await pass(new Browser(here.console), provider, '43')).status, 403);
				const bob = await here.person('bob@example.com', admin);
				assert.equal((await connect(bob, provider, '42')).location, '/console/account?sso=taken');
				await ada.post('/console/account', { action: 'disconnect single sign-on' });
				assert.equal((await pass(new Browser(here.console), provider, '42')).status, 403);
			});

			test('an answer that is replayed, of another browser, or not asked for is refused', async (t) => {
				const { here, provider } = await start(t);
				const ada = await here.person(email, admin);
				await connect(ada, provider, '42');
				const other = new Browser(here.console);
				const { location } = await other.get('/console/sign-in/sso');
				const kept = [...other.cookies];
				const back = await provider.signIn(location as string, '42');
				const stranger = new Browser(here.console);
				assert.equal((await stranger.get(back.href)).status, 400);
				await stranger.get('/console/sign-in/sso');
				assert.equal((await stranger.get(back.href)).status, 400);
				assert.match(here.errors.join(), /"state"/);
				assert.equal((await other.get(back.href)).status, 303);
				assert.equal((await other.get(back.href)).status, 400, 'the way back is used up');
				const replaying = new Browser(here.console);
				for (const [name, value] of kept) replaying.cookies.set(name, value);
				assert.equal((await replaying.get(back.href)).status, 400);
				assert.ok([...replaying.cookies.keys()].length === 0);
				const forced = await ada.get('/console/sign-in/sso?prove=1', { 'sec-fetch-site': 'cross-site' });
				assert.equal(forced.status, 403);
			});

			test('who has no password shows who they are through the provider, once, while the form waits', async (t) => {
				const { here, provider } = await start(t);
				const ada = await here.person(email, admin);
				await connect(ada, provider, '42');
				here.clock.now += 20 * minuteMs;
				const form = { action: 'create', email: 'eve@example.com', role: 'viewer' };
				const asking = await ada.post('/console/people', form);
				assert.equal(asking.status, 403);
				assert.match(asking.body, /sso\?prove=1" target="_blank">Confirm through 127\.0\.0\.1/);
				assert.equal((await pass(ada, provider, '43', '?prove=1')).status, 403, 'somebody else');
				assert.equal((await ada.post('/console/people', form)).status, 403);
				assert.match((await pass(ada, provider, '42', '?prove=1')).body, /You have shown who you are/);
				assert.equal((await ada.post('/console/people', form)).status, 200);
				assert.equal(
					(await ada.post('/console/people', { ...form, email: 'b@example.com' })).status,
					403,
					'it is good once',
				);
			});

			test('a stolen session cannot tie an identity of its own to the person', async (t) => {
				const { here, provider } = await start(t);
				const ada = await here.person(email, admin);
				here.clock.now += 20 * minuteMs;
				const { status } = await ada.post('/console/account', { action: 'connect single sign-on' });
				assert.equal(status, 403);
				const { location } = await ada.get('/console/sign-in/sso');
				const journey = ada.cookies.get('__Host-caskade-sso') as string;
				ada.cookies.set('__Host-caskade-sso', journey.replace('.enter.', '.connect.'));
				const back = await provider.signIn(location as string, '66');
				assert.equal((await ada.get(back.href)).location, '/console/account?sso=late');
				assert.equal((await pass(new Browser(here.console), provider, '66')).status, 403);
			});

			test('a provider that names itself otherwise is refused, and a password still signs in', async (t) => {
				const { provider } = await start(t);
				const sso = { ...provider, issuer: provider.issuer.replace('127.0.0.1', 'localhost') };
				const here = await consoleHere(t, engine, { sso });
				const ada = await here.person(email, admin);
				await ada.post('/console/account', { action: 'password', new: password, again: password });
				const { status, body } = await new Browser(here.console).get('/console/sign-in/sso');
				assert.deepEqual([status, /Single sign-on has not worked/.test(body)], [502, true]);
				assert.match(here.errors.join(), /issuer does not match/);
				assert.equal(
					(await new Browser(here.console).post('/console/sign-in', { email, password })).status,
					303,
				);
			});
		});
	});

/** What a camera reads in the picture of a page. */
function scanned(body: string): string | undefined {
	const [, size = '', path = ''] = /viewBox="0 0 (\d+) \d+".*?<path d="([^"]+)"/s.exec(body) ?? [];
	const side = 4 * Number(size);
	const pixels = new Uint8ClampedArray(4 * side * side).fill(255);
	for (const [, x, y] of path.matchAll(/M(\d+) (\d+)h1v1h-1z/g))
		for (let pixel = 0; pixel < 16; pixel++) {
			const at = (4 * Number(y) + (pixel >> 2)) * side + 4 * Number(x) + (pixel & 3);
			pixels.fill(0, 4 * at, 4 * at + 3);
		}
	return jsQR.default(pixels, side, side)?.data;
}
