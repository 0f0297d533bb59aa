import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type PersonRole, personRoles, type Right } from '../../../src/kit/person.ts';
import { enginesAboveContract } from '../../core/store/engines.ts';
import { allPages } from '../../pages.ts';
import { Browser, consoleUrl } from './browser.ts';
import { consoleHere } from './here.ts';

/** What each role may, as docs/reference/console.md promises it. */
const promised: Readonly<Record<PersonRole, readonly Right[]>> = {
	viewer: ['aggregates'],
	analyst: ['aggregates', 'visitors'],
	operator: ['aggregates', 'visitors', 'operate'],
	admin: ['aggregates', 'visitors', 'operate', 'administer'],
};

/** Something for each named part of a path. */
const parts: Readonly<Record<string, string>> = {
	email: 'admin@example.com',
	file: 'attribution.csv',
	vid: '0'.repeat(32),
	tid: 'T-1',
	cid: 'customer-1',
};

/** Every page and form of the console, from its own list, so that none that is added later is forgotten. */
const asked = allPages.flatMap((page) =>
	(['get', 'post'] as const)
		.filter((method) => page[method === 'get' ? 'get' : 'actions'])
		.map((method) => ({ page, method, isOfAccount: page.path.split('/')[0] === ':aid' })),
);

const addressOf = (path: string, aid: string) =>
	`/console/${path.replace(/^:aid/, aid).replaceAll(/:(\w+)/g, (_, name) => encodeURIComponent(parts[name] ?? 'x'))}`;

for (const engine of enginesAboveContract)
	test(`every page and form, by every role, of an own and a foreign account, on ${engine.name}`, async (t) => {
		const { person, store } = await consoleHere(t, engine);
		assert.ok(asked.length > 10);
		for (const role of personRoles) {
			const grants = [{ aid: role === 'admin' ? null : 'c-a-one', role }];
			const browser = await person(`${role}@example.com`, grants);
			for (const { page, method, isOfAccount } of asked)
				for (const aid of isOfAccount ? ['c-a-one', 'c-a-two', 'c-a-none'] : ['']) {
					const what = `${role} ${method} ${page.path} ${aid}`;
					const address = addressOf(page.path, aid);
					const { status, body } = await (method === 'get'
						? browser.get(address)
						: browser.post(address, {}));
					const isForeign = isOfAccount && (aid === 'c-a-none' || (role !== 'admin' && aid !== 'c-a-one'));
					const isAllowed =
						page.right === null || (promised[role].includes(page.right) && (isOfAccount || role === 'admin'));
					if (isForeign) {
						assert.equal(status, 404, what);
						assert.match(body, /This page does not exist, or you may not see it/, what);
					} else if (isAllowed) {
						assert.ok(![401, 403, 405].includes(status), `${what}: ${status}`);
						assert.doesNotMatch(body, /This page does not exist/, what);
					} else {
						assert.equal(status, 403, what);
						assert.match(body, /Your role does not allow this/, what);
					}
				}
			assert.match((await browser.get('/console/account')).body, /You are signed in as/, role);
		}
		assert.equal((await store.control.people.list()).length, personRoles.length, 'nothing was changed');
	});

for (const engine of enginesAboveContract)
	test(`a form that names no action of its page is refused, on ${engine.name}`, async (t) => {
		const { person, errors } = await consoleHere(t, engine);
		const admin = await person('admin@example.com', [{ aid: null, role: 'admin' }]);
		for (const { page } of asked.filter(({ method }) => method === 'post'))
			for (const action of ['', 'none', 'constructor', '__proto__']) {
				const { status, body } = await admin.post(addressOf(page.path, 'c-a-one'), { action });
				assert.equal(status, 400, `${page.path} ${action}`);
				assert.match(body, /The form names nothing that this page can do/);
			}
		assert.deepEqual(errors, []);
	});

for (const engine of enginesAboveContract)
	test(`who has not signed in is asked to, whatever the page, on ${engine.name}`, async (t) => {
		const { console, person } = await consoleHere(t, engine);
		await person('admin@example.com', [{ aid: null, role: 'admin' }]);
		for (const cookie of [undefined, 'made-up']) {
			const stranger = new Browser(console);
			if (cookie) stranger.cookies.set('__Host-caskade', cookie);
			for (const { page, method } of asked) {
				const address = addressOf(page.path, 'c-a-one');
				const { status, location, body } = await (method === 'get'
					? stranger.get(address)
					: stranger.post(address, {}));
				assert.equal(status, 303, address);
				assert.equal(body, '');
				const back = new URL(location as string, consoleUrl).searchParams;
				assert.equal(back.get('to'), method === 'get' || page.get ? address : null);
				assert.equal(back.get('unsent'), method === 'get' ? null : '1');
			}
		}
	});
