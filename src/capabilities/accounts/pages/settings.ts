import { standardPlan } from '../../../core/domain/usage-plan.ts';
import { OperatorError } from '../../../core/errors.ts';
import { isCurrency } from '../../../core/format/currencies.ts';
import { formatNumber } from '../../../core/format/numbers.ts';
import { type ApiKey, isUsable } from '../../../core/store/control/control-store.ts';
import { actFields, actGiven, acting, doing, warningOf } from '../../../kit/console/act-form.ts';
import { formOf, hiddenFields } from '../../../kit/console/form.ts';
import { mayKeys, notOnAll } from '../../../kit/console/key-rights.ts';
import { nameSuggestions } from '../../../kit/console/name-suggestions.ts';
import { type AccountRequest, type Actions, accountPage, type Question } from '../../../kit/console/page.ts';
import { factList, nameOf, pageTable, sortedTable, tabs, timeOf } from '../../../kit/console/page-table.ts';
import { planTable } from '../../../kit/console/plan-table.ts';
import { type Html, html } from '../../../kit/format/html.ts';
import { may } from '../../../kit/person.ts';
import { assumedRenewals } from '../../../kit/reports/courses.ts';
import { settingFields, typedSettings, updateAccount } from '../acts/account-acts.ts';
import { createGoal, deleteGoal, updateGoal } from '../acts/goal-acts.ts';
import { issueKey, revokeKey } from '../acts/key-acts.ts';
import { relabelledAmounts } from '../store/stored-amounts.ts';

const actions: Actions<AccountRequest> = {
	account: acting(updateAccount, async (asked: AccountRequest) => {
		// Whether amounts are called by another name has been asked.
		await asked.act(updateAccount, {
			...actGiven(settingFields, asked.form),
			relabelAmounts: asked.form.has('confirm'),
		});
	}),
	'create goal': doing(createGoal),
	'update goal': doing(updateGoal),
	'delete goal': acting(deleteGoal, async (asked: AccountRequest) => {
		const name = asked.form.get('goal') ?? '';
		if (asked.form.get('again') !== name)
			throw new OperatorError(`To delete the goal with its models, write its name: ${name}.`);
		await doing(deleteGoal)(asked);
	}),
	'issue key': acting(issueKey, async (asked: AccountRequest) => {
		await requireKeys(asked);
		const { client } = asked.account;
		const given = actGiven(issuing(await plansOf(asked)), asked.form);
		const { id, key, scope } = await asked.act(issueKey, { ...given, client });
		return {
			once: html`<p>The key <code>${id}</code> of ${client}, for ${scope}. Save it now; it cannot be shown again. It works within a second.</p>
<p><code class="secret">${key}</code></p>
<p><a href="${asked.request.path}?part=keys">I have saved it</a></p>`,
		};
	}),
	'revoke key': acting(revokeKey, async (asked: AccountRequest) => {
		await asked.act(revokeKey, await keyOf(asked));
	}),
};

/** What a form says of a key, whose client is the account's. */
function issuing(plans: readonly string[]) {
	const { client: _, ...takes } = issueKey.takes;
	return { ...takes, plan: { ...takes.plan, choices: plans } };
}

/** What `caskade account update`, `goal` and `key` can do for an account. */
export const settingsPage = accountPage({
	path: ':aid/settings',
	title: 'Settings',
	menu: 'Settings',
	place: 14,
	right: 'operate',
	async get(asked) {
		const { account, query, request, store } = asked;
		const part = query.get('part') ?? '';
		const tab = (name: string, text: string) =>
			[name === '' ? request.path : `${request.path}?part=${name}`, text, name === part] as const;
		const shown = async () => {
			if (part === 'goals') return goalSection(asked);
			if (part === 'keys') return keySection(asked);
			// What servers last learned: to learn it anew takes long where there are many events.
			const learned = await store.control.cadences(account.id);
			return accountForm(asked, learned && assumedRenewals(account, learned));
		};
		return html`${tabs([tab('', 'Account'), tab('goals', 'Goals'), tab('keys', 'Keys and limits')])}
${await shown()}`;
	},
	actions,
	questions: { 'revoke key': warningOf(revokeKey, keyOf), account: whatIsRelabelled },
});

/** Reports show all amounts by the account's currency, and which were meant is not known afterwards. */
async function whatIsRelabelled({ store, account, form }: AccountRequest): Promise<Question | undefined> {
	const currency = form.get('currency')?.trim() ?? '';
	// The act says what is wrong with it.
	if (!isCurrency(currency)) return undefined;
	const relabelled = await relabelledAmounts(store, account, currency);
	if (relabelled === undefined) return undefined;
	return {
		what: html`<p class="warning">${relabelled} Go on only if they were in ${currency} all along. Otherwise create another account for ${currency}.</p>`,
		name: currency,
	};
}

/** The key of the client that a form names. */
async function keyOf(asked: AccountRequest): Promise<{ key: string }> {
	await requireKeys(asked);
	const { client } = asked.account;
	const key = asked.form.get('key') ?? '';
	if (!(await asked.store.control.keys(client)).some(({ id }) => id === key))
		throw new OperatorError(`${client} has no key ${key}.`);
	return { key };
}

/** @param assumed what is taken of event types that nobody has renewed */
async function accountForm(asked: AccountRequest, assumed: string | null): Promise<Html> {
	const { account } = asked;
	const { aid, client } = account;
	const { cancellationEvt, ...others } = settingFields;
	const takes = {
		...others,
		cancellationEvt: { ...cancellationEvt, suggestions: (await nameSuggestions(asked)).evt },
	};
	const fields = html`${actFields(takes, typedSettings(account), 'account')}
${assumed !== null && html`<p class="hint">${assumed}</p>`}`;
	return html`${factList({ 'Account token': aid, Client: client })}
<section class="section"><h2>Account</h2>
${formOf(asked, 'account', fields, 'Save')}</section>`;
}

function goalSection(asked: AccountRequest): Html {
	const { goals } = asked.account;
	return html`<section class="section"><h2>Goals</h2>
<p>A goal is something that visitors may do; scores say how likely each is to do it. Until a model is trained, the score is the rate at which the account's visitors reach the goal.</p>
${goals.length === 0 ? html`<p class="empty">No goals.</p>` : goalTable(asked)}
<details><summary>Add a goal</summary>
${formOf(asked, 'create goal', actFields(createGoal.takes), 'Add')}</details></section>`;
}

function goalTable(asked: AccountRequest): Html {
	return pageTable('Goals', asked.account.goals, {
		Goal: ({ name }) => nameOf(name),
		'Event types': ({ evts }) => (evts.includes('*') ? 'all' : nameOf(evts.join(', '))),
		'Upload events that count': ({ evts, counts }) => evts.some((evt) => evt !== 'visit') && counts,
		'#Days to reach it': ({ horizonDays }) => horizonDays,
		'Bands medium and high from percentile': ({ name, mediumFrom, highFrom }) => {
			const field = html`<input name="bands" value="${mediumFrom},${highFrom}" size="6" aria-label="Bands of ${name}" required>`;
			return formOf(asked, 'update goal', [hiddenFields({ goal: name }), field], 'Change');
		},
		'Delete, with its models': ({ name }) => {
			const field = html`<input name="again" size="12" aria-label="The name of ${name} again" placeholder="type the name" autocomplete="off" required>`;
			return formOf(asked, 'delete goal', [hiddenFields({ goal: name }), field], 'Delete', {
				look: 'danger',
			});
		},
	});
}

async function requireKeys(asked: AccountRequest): Promise<void> {
	if (!(await mayKeys(asked))) throw new OperatorError(notOnAll(asked));
}

/** Administrators decide on plans; others stay with those that the client has. */
async function plansOf({ store, account, person }: AccountRequest): Promise<string[]> {
	const plans = (await store.control.plans()).map(({ name }) => name);
	if (may(person, null, 'administer')) return plans;
	const keys = await store.control.keys(account.client);
	return plans.filter((name) => name === standardPlan.name || keys.some(({ plan }) => plan === name));
}

async function keySection(asked: AccountRequest): Promise<Html> {
	const { store, account, now } = asked;
	const heading = html`<h2>Keys and limits</h2>`;
	if (!(await mayKeys(asked)))
		return html`<section class="section">${heading}
<p>${notOnAll(asked)}</p></section>`;
	const keys = await store.control.keys(account.client);
	const { usable = [], ended = [] } = Object.groupBy(keys, (key) =>
		isUsable(key, now()) ? 'usable' : 'ended',
	);
	const allowed = await plansOf(asked);
	const plans = (await store.control.plans()).filter(({ name }) => allowed.includes(name));
	const names = plans.map(({ name }) => name);
	const fields = actFields(issuing(names));
	return html`<section class="section">${heading}
<p>The back end of ${account.client} sends a key in the <code>x-api-key</code> header. A key is shown once, when it is issued. To rotate a key, issue a second one, move the client to it, revoke the first.</p>
${usable.length === 0 ? html`<p class="empty">No key is usable, so nobody can upload. Issue one below, or with <code>caskade key issue --client ${account.client}</code>.</p>` : await keyTable(asked, usable)}
${ended.length > 0 && html`<details><summary>${ended.length} ended</summary>${endedTable(asked, ended)}</details>`}
<details><summary>Issue a key</summary>
${formOf(asked, 'issue key', fields, 'Issue, and show it once')}</details>
${planTable(plans)}</section>`;
}

async function keyTable(asked: AccountRequest, keys: readonly ApiKey[]): Promise<Html> {
	const { store, account } = asked;
	const used = new Map((await store.control.usage(account.client)).map((usage) => [usage.key, usage]));
	return sortedTable(asked, 'Keys', keys, {
		Key: ({ id }) => html`<code>${id}</code>`,
		Name: ({ name }) => nameOf(name),
		Scope: ({ scope }) => scope,
		Plan: ({ plan }) => plan,
		Created: ({ createdAt }) => timeOf(createdAt),
		'Last used': ({ lastUsedAt }) => (lastUsedAt === null ? 'never' : timeOf(lastUsedAt)),
		Expires: ({ expiresAt }) => (expiresAt === null ? 'never' : timeOf(expiresAt)),
		'#Used this month': ({ id }) => {
			const usage = used.get(id);
			return usage && `${formatNumber(usage.used)} of ${formatNumber(usage.quota)}`;
		},
		Revoke: ({ id }) => formOf(asked, 'revoke key', hiddenFields({ key: id }), 'Revoke', { look: 'danger' }),
	});
}

function endedTable(asked: AccountRequest, keys: readonly ApiKey[]): Html {
	return sortedTable(asked, 'Revoked and expired keys', keys, {
		Key: ({ id }) => html`<code>${id}</code>`,
		Name: ({ name }) => nameOf(name),
		Scope: ({ scope }) => scope,
		Ended: ({ revokedAt, expiresAt }) =>
			revokedAt !== null ? `revoked ${timeOf(revokedAt)}` : expiresAt && `expired ${timeOf(expiresAt)}`,
	});
}
