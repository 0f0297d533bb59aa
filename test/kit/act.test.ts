import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { program } from '../../src/assembly/cli/caskade.ts';
import { createGoal, deleteGoal } from '../../src/capabilities/accounts/acts/goal-acts.ts';
import { issueKey } from '../../src/capabilities/accounts/acts/key-acts.ts';
import { createWebhook, rotateWebhook } from '../../src/capabilities/webhooks/acts.ts';
import { webhookEventsOf } from '../../src/capabilities/webhooks/domain/webhook.ts';
import { OperatorError } from '../../src/core/errors.ts';
import { type Act, type AnyAct, act, runAct } from '../../src/kit/act.ts';
import { assertRefuses, enginesAboveContract, openAccountOn } from '../core/store/engines.ts';

const src = join(import.meta.dirname, '../../src');

/** Every act, by the name of its export; and lists of acts that a page offers. */
const acts = new Map<string, AnyAct>();
const offered = new Map<string, readonly { readonly of: AnyAct }[]>();
for (const file of globSync('capabilities/*/{acts,acts/*}.ts', { cwd: src }))
	for (const [name, made] of Object.entries(await import(join(src, file))))
		if (Array.isArray(made)) offered.set(name, made);
		else if (typeof made === 'object' && made !== null && 'verb' in made) acts.set(name, made as AnyAct);

const goal = {
	name: 'trial',
	evt: ['trial'],
	counts: 'any',
	horizonDays: 7,
	bands: { mediumFrom: 50, highFrom: 90 },
} as const;

for (const engine of enginesAboveContract) {
	test(`an act and its entry in the audit log are one, on ${engine.name}`, async () => {
		const { store, accountId, aid } = await openAccountOn(engine);
		const place = { store, account: await store.control.account(aid) };
		const entries = async () =>
			(await store.control.audit.list({ aid, limit: 50 })).map(({ at: _, ...entry }) => entry);
		const goals = async () => (await store.control.goals(accountId)).map(({ name }) => name);
		const { revision } = await store.control.accessSnapshot();

		await runAct(createGoal, 'ada', place, goal);
		const done = { who: 'ada', action: 'goal created', aid, about: 'trial' };
		assert.deepEqual(await entries(), [done]);
		assert.ok((await store.control.revision()) > revision, 'servers notice');

		await assertRefuses(runAct(createGoal, 'eve', place, goal), /a goal trial already/);
		const refused = { who: 'eve', action: 'refused: goal create', aid, about: 'trial' };
		assert.deepEqual(await entries(), [refused, done]);

		const half: Act<(typeof deleteGoal)['takes'], void> = act({
			...deleteGoal,
			async run(control, { account }, { goal }) {
				await control.deleteGoal(account.id, goal);
				throw new OperatorError('Not after all.');
			},
		});
		await assertRefuses(runAct(half, 'ada', place, { goal: 'trial' }), /Not after all/);
		assert.ok((await goals()).includes('trial'), 'what an act has begun is undone with it');

		const unspoken = act({
			...deleteGoal,
			about: () => {
				throw new Error('no entry');
			},
		});
		await assert.rejects(runAct(unspoken, 'ada', place, { goal: 'trial' }), /no entry/);
		assert.ok((await goals()).includes('trial'), 'nothing is done without an entry');
	});

	test(`the audit log has no secret, on ${engine.name}`, async () => {
		const { store, aid } = await openAccountOn(engine);
		const account = await store.control.account(aid);
		const ofAll = { store, account: undefined };
		const { key } = await runAct(issueKey, 'ada', ofAll, {
			client: account.client,
			plan: 'standard',
			scope: 'upload',
			name: undefined,
			expiresIn: undefined,
		});
		const events = webhookEventsOf('goal.reached');
		const settings = { url: 'https://crm.example/T0KEN', events, withCid: false };
		const place = { store, account };
		const { id, secret } = await runAct(createWebhook, 'ada', place, { ...settings, allowPrivate: false });
		const unsafe = { ...settings, url: 'http://crm.example/T0KEN', allowPrivate: false };
		await assertRefuses(runAct(createWebhook, 'ada', place, unsafe), /must begin with https/);
		const rotated = await runAct(rotateWebhook, 'ada', place, { webhook: id });
		const log = JSON.stringify(await store.control.audit.list({ limit: 50 }));
		assert.match(log, /webhook rotated.*refused: webhook create/);
		for (const hidden of [key, secret, rotated.secret, 'T0KEN']) assert.equal(log.includes(hidden), false);
	});
}

test('every act has a command and a form, or a reason to have none', async () => {
	assert.ok(acts.size >= 18);
	const pages = globSync('capabilities/*/pages/*.ts', { cwd: src }).map((file) =>
		readFileSync(join(src, file), 'utf8').replaceAll(/^import [^;]*;/gm, ''),
	);
	const { commands } = await program();
	for (const [name, { noun, verb, noForm, noCommand }] of acts) {
		const group = commands.find((command) => command.name() === noun);
		assert.notEqual(
			group?.commands.some((command) => command.name() === verb) ?? false,
			noCommand !== undefined,
			`caskade ${noun} ${verb}, or why there is none`,
		);
		const lists = [...offered].filter(([, list]) => list.some(({ of }) => of === acts.get(name)));
		const names = [name, ...lists.map(([list]) => list)].join('|');
		const hasForm = pages.some((page) => new RegExp(`\\b(${names})\\b`).test(page));
		assert.notEqual(hasForm, noForm !== undefined, `${name}: a form, or why there is none`);
	}
});

/** Commands that are no acts: they only look, or say in `noteDone` what they did. */
const looking = [
	...['account list', 'audit list', 'backtest', 'client list', 'doctor', 'events', 'experiment list'],
	...['experiment plan', 'export', 'goal list', 'key list', 'model list', 'model show'],
	...[
		'note list',
		'plan list',
		'report',
		'score',
		'segment list',
		'segment members',
		'segment test',
		'status',
	],
	...[
		'subscription list',
		'subscription show',
		'usage',
		'user list',
		'visitor export',
		'visitor find',
		'visitor show',
	],
	...['webhook deliveries', 'webhook list'],
];
const noted = ['cask issue', 'import', 'spend import', 'train', 'visitor erase-again'];
/** They run acts of other names. */
const ofOtherNames = ['account identity-secret', 'user sessions'];
/** What they change is a database as a whole, or another server's. */
const ofWholes = ['backup', 'copy', 'demo', 'migrate', 'restore', 'serve', 'upload'];

test('every command is an act, or says what it did, or only looks', async () => {
	const { commands } = await program();
	const names = commands.flatMap((command) =>
		command.commands.length === 0
			? [command.name()]
			: command.commands.map((own) => `${command.name()} ${own.name()}`),
	);
	const ofActs = [...acts.values()].map(({ noun, verb }) => `${noun} ${verb}`);
	const others = names.filter((name) => !ofActs.includes(name) && !name.startsWith('report '));
	assert.deepEqual(others.sort(), [...looking, ...noted, ...ofOtherNames, ...ofWholes].sort());
});
