import assert from 'node:assert/strict';
import { test } from 'node:test';
import { enginesAboveContract } from '../../core/store/engines.ts';
import { allPages } from '../../pages.ts';
import { consoleHere } from './here.ts';
import { addressesOf } from './markup.ts';

/** What somebody may type or send in any field. */
const oddTexts = [
	'x',
	'',
	'\u0000',
	'((',
	'-1',
	'1e99',
	'2026-02-30',
	'9999-12-31',
	'visitor.nothing > 1',
	'👩‍👩‍👧‍👦\u202e%00%',
	"'; DROP TABLE account; --",
	'y'.repeat(5000),
];

interface Form {
	readonly method: string;
	readonly address: string;
	readonly fields: readonly { readonly name: string; readonly value: string; readonly isTyped: boolean }[];
}

/** The forms of a page, with what each would send. */
function formsOf(page: string, markup: string): Form[] {
	const text = (value = '') => value.replaceAll(/&#(\d+);/g, (_, code) => String.fromCodePoint(Number(code)));
	return [...markup.matchAll(/<form([^>]*)>(.*?)<\/form>/gs)].map(([, head = '', inside = '']) => ({
		method: /method="(\w+)"/.exec(head)?.[1] ?? 'get',
		address: text(/action="([^"]*)"/.exec(head)?.[1]) || page,
		fields: [...inside.matchAll(/<(input|select|textarea|button)([^>]*\bname="([^"]+)"[^>]*)>/g)]
			.filter(([, , , name]) => name !== 'token')
			.map(([, , attributes = '', name = '']) => ({
				name,
				value: text(/\bvalue="([^"]*)"/.exec(attributes)?.[1]),
				isTyped: !/type="hidden"/.test(attributes),
			})),
	}));
}

/** They end what the test needs, begin what takes long, or ask a server elsewhere. */
const notSent = new Set([
	'test',
	'disable',
	'disable client',
	'train',
	'end others',
	'end session',
	'end sessions',
	'password',
	'remove',
]);

for (const engine of enginesAboveContract)
	test(`whatever is typed into a form, the page says what is wrong with it, on ${engine.name}`, async (t) => {
		const { person, link, store, errors } = await consoleHere(t, engine, { makesReports: true });
		const ada = await person('ada@example.com', [{ aid: null, role: 'admin' }]);
		await link('bob@example.com', [{ aid: 'c-a-one', role: 'viewer' }]);
		const { id } = await store.control.account('c-a-one');
		await store.control.createWebhook(id, {
			url: 'https://crm.example/',
			events: ['goal.reached'],
			withCid: false,
			allowPrivate: false,
		});
		const parts = { email: 'bob@example.com', vid: '0'.repeat(32), tid: 'T-1', cid: 'customer-1' };
		const sent = new Set<string>();
		for (const page of addressesOf('c-a-one', parts))
			for (const { method, address, fields } of formsOf(page, (await ada.whole(page)).body)) {
				const action = fields.find(({ name }) => name === 'action')?.value ?? '';
				if (notSent.has(action) || address.endsWith('sign-out')) continue;
				// Whatever a form offers, anything may be sent.
				for (const odd of oddTexts) {
					const typed = Object.fromEntries(
						fields.map(({ name, value, isTyped }) => [name, isTyped ? odd : value]),
					);
					const answer =
						method === 'post'
							? await ada.post(address, typed)
							: await ada.get(`${address.split('?')[0]}?${new URLSearchParams(typed)}`);
					const what = `${method} ${address} ${action} ${JSON.stringify(odd.slice(0, 20))}`;
					assert.ok(answer.status < 500, `${what}: ${answer.status} ${errors}`);
					assert.deepEqual(errors, [], what);
				}
				sent.add(`${address.split('?')[0]} ${action}`);
			}
		assert.ok(sent.size > allPages.length, `only ${sent.size} forms were sent`);
		assert.ok(await store.control.account('c-a-one'));
	});
