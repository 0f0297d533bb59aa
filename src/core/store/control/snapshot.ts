import type { Selectable } from 'kysely';
import type { AccountMembers, AccountParts, Capability, SnapshotMembers } from '../../capability.ts';
import type { KeyScope } from '../../domain/api-key.ts';
import type { Goal } from '../../domain/goal.ts';
import type { Segment } from '../../domain/segment.ts';
import type { IdentitySecrets } from '../../domain/signed-id.ts';
import { caskLifetimeMs, type SigningKey } from '../../domain/signing-key.ts';
import { Cadences, emptyCadenceTable } from '../../domain/subscription-cadence.ts';
import type { UsagePlan } from '../../domain/usage-plan.ts';
import { type AccountSettings, accountSettings } from './accounts.ts';
import { selectSigningKeys } from './casks.ts';
import { toGoal } from './goals.ts';
import { type ActiveModel, toActiveModel } from './models.ts';
import { selectPlans } from './plans.ts';
import { selectRevision, selectRows } from './rows.ts';
import { toSegment } from './segments.ts';
import type { ControlDatabase, ControlTables } from './tables.ts';

/** An API key that is known and not revoked. */
export interface KnownKey {
	readonly id: string;
	readonly clientId: number;
	/** The client's name. */
	readonly client: string;
	readonly plan: UsagePlan;
	readonly scope: KeyScope;
	/** Milliseconds since 1970; infinity where it never expires. */
	readonly expiresAtMs: number;
}

/** An account that is not disabled. */
export interface KnownAccount extends AccountSettings, AccountMembers {
	readonly id: number;
	readonly clientId: number;
	readonly client: string;
	readonly aid: string;
	/** Derives visitors, see `domain/derived-vid.ts`. Never shown. */
	readonly visitorSecret: string;
	/** Of the client's back end; null where nobody has asked for one. Never shown to pages. */
	readonly identitySecrets: IdentitySecrets | null;
	readonly goals: readonly Goal[];
	readonly segments: readonly Segment[];
	readonly models: readonly ActiveModel[];
	/** Base rates of goals without a model, by goal name; see `BaseRate`. Goals that were never counted are missing. */
	readonly baseRates: ReadonlyMap<string, readonly number[]>;
	/** How often its subscriptions are paid; nothing until it was learned. */
	readonly cadences: Cadences;
	/** Times of revocations by `vid` or `sid`, as long as a revoked cask could still be valid. */
	readonly revocations: ReadonlyMap<string, number>;
}

/** Everything that a server needs to admit requests, as of one revision. */
export interface AccessSnapshot extends SnapshotMembers {
	readonly revision: number;
	/** Keys that are not revoked, by the SHA-256 of the key. */
	readonly keys: ReadonlyMap<string, KnownKey & { readonly hash: string }>;
	/** By `aid`, without disabled accounts and those of disabled clients. */
	readonly accounts: ReadonlyMap<string, KnownAccount>;
	/** Newest first. */
	readonly signingKeys: readonly SigningKey[];
}

/** Reads the snapshot. Consistent within a transaction. */
export async function selectSnapshot(
	database: ControlDatabase,
	nowMs: number,
	capabilities: readonly Capability[],
): Promise<AccessSnapshot> {
	const parts = [];
	for (const { ofAccounts } of capabilities) if (ofAccounts) parts.push(await ofAccounts(database, nowMs));
	const others = [];
	for (const { ofServer } of capabilities) if (ofServer) others.push(await ofServer(database, nowMs));
	return {
		revision: await selectRevision(database),
		keys: await selectUsableKeys(database),
		accounts: await selectUsableAccounts(database, nowMs, parts),
		signingKeys: await selectSigningKeys(database, nowMs),
		...Object.assign({}, ...others),
	};
}

async function selectUsableKeys(database: ControlDatabase): Promise<AccessSnapshot['keys']> {
	const plans = new Map((await selectPlans(database)).map((plan) => [plan.name, plan]));
	const keys = await database
		.selectFrom('api_key')
		.innerJoin('client', 'client.id', 'api_key.client_id')
		.selectAll('api_key')
		.select('client.name as client')
		.where(({ and }) => and({ 'api_key.revoked_at': null, 'client.disabled_at': null }))
		.execute();
	return new Map(
		keys.map((key) => [
			key.hash,
			{
				id: key.id,
				hash: key.hash,
				clientId: key.client_id,
				client: key.client,
				scope: key.scope,
				plan: plans.get(key.plan) as UsagePlan,
				expiresAtMs: key.expires_at ?? Number.POSITIVE_INFINITY,
			},
		]),
	);
}

async function selectUsableAccounts(
	database: ControlDatabase,
	nowMs: number,
	parts: readonly AccountParts[],
): Promise<AccessSnapshot['accounts']> {
	const accounts = await database
		.selectFrom('account')
		.innerJoin('client', 'client.id', 'account.client_id')
		.selectAll('account')
		.select('client.name as client')
		.where(({ and }) => and({ 'account.disabled_at': null, 'client.disabled_at': null }))
		.execute();
	const goals = byAccount(await selectRows(database, 'goal', {}, 'seq'));
	const segments = byAccount(await selectRows(database, 'segment', {}, 'seq'));
	const models = byAccount(
		await database
			.selectFrom('model')
			.select(['account_id', 'goal', 'scope', 'version', 'levels'])
			.where('active', '=', 1)
			.orderBy('goal')
			.orderBy('scope')
			.execute(),
	);
	const revocations = byAccount(
		await database
			.selectFrom('revocation')
			.selectAll()
			.where('revoked_at', '>', nowMs - caskLifetimeMs)
			.execute(),
	);
	return new Map(
		accounts.map((account) => [
			account.aid,
			{
				id: account.id,
				clientId: account.client_id,
				client: account.client,
				aid: account.aid,
				visitorSecret: account.visitor_secret,
				identitySecrets: identitySecretsOf(account),
				...accountSettings(account),
				goals: goals(account.id).map(toGoal),
				segments: segments(account.id).map(toSegment),
				models: models(account.id).map(toActiveModel),
				baseRates: new Map(
					goals(account.id).flatMap(({ name, base_rates }) =>
						base_rates === null ? [] : [[name, JSON.parse(base_rates)]],
					),
				),
				cadences: new Cadences(
					account.cadences === null ? emptyCadenceTable : JSON.parse(account.cadences),
					JSON.parse(account.renewal_days),
					{ setDays: JSON.parse(account.grace_days) },
					account.cancellation_evt,
				),
				revocations: new Map(revocations(account.id).map((row) => [row.subject, row.revoked_at])),
				keepsConflicts: false,
				isFollowed: false,
				...Object.assign({}, ...parts.map((partOf) => partOf(account.id))),
			},
		]),
	);
}

function identitySecretsOf({
	identity_secret: secret,
	previous_identity_secret: previous,
	previous_identity_until: untilMs,
}: Selectable<ControlTables['account']>): IdentitySecrets | null {
	if (secret === null) return null;
	return { secret, previous: previous === null ? null : { secret: previous, untilMs: untilMs ?? 0 } };
}

/** @returns a function that gives one account's rows */
export function byAccount<Row extends { readonly account_id: number }>(
	rows: readonly Row[],
): (accountId: number) => readonly Row[] {
	const groups = Map.groupBy(rows, (row) => row.account_id);
	return (accountId) => groups.get(accountId) ?? [];
}
