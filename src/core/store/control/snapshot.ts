import type { AccountMembers, SnapshotMembers, SnapshotPart, StoreCapability } from '../../capability.ts';
import type { KeyScope } from '../../domain/api-key.ts';
import type { Goal } from '../../domain/goal.ts';
import type { Segment } from '../../domain/segment.ts';
import type { IdentitySecrets } from '../../domain/signed-id.ts';
import { caskLifetimeMs, type SigningKey } from '../../domain/signing-key.ts';
import { Cadences, emptyCadenceTable } from '../../domain/subscription-cadence.ts';
import type { UsagePlan } from '../../domain/usage-plan.ts';
import { ask, type Reading, select } from '../steps.ts';
import {
	type AccountRow,
	type AccountSettings,
	accountSettings,
	selectAccountRows,
} from './account-store.ts';
import { selectSigningKeys } from './cask-store.ts';
import { baseRatesOf, selectGoals, toGoal } from './goal-store.ts';
import { selectKeyRows } from './key-store.ts';
import { type ActiveModel, selectActiveModels, toActiveModel } from './model-store.ts';
import { selectPlans } from './plan-store.ts';
import { selectSegments, toSegment } from './segment-store.ts';

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

/** The number of the latest change that running servers notice; one row. */
export const selectRevision = () => select<{ readonly number: number }>`number FROM @revision`;

export const revisionOf = ([row]: readonly { readonly number: number }[]) => Number(row?.number);

export function* selectSnapshot(
	nowMs: number,
	capabilities: readonly StoreCapability[],
): Reading<AccessSnapshot> {
	const parts: SnapshotPart[] = [];
	for (const { snapshot } of capabilities) if (snapshot) parts.push(yield* snapshot(nowMs));
	return {
		revision: revisionOf(yield* selectRevision()),
		keys: yield* selectUsableKeys(),
		accounts: yield* selectUsableAccounts(nowMs, parts),
		signingKeys: yield* selectSigningKeys(nowMs),
		...Object.assign({}, ...parts.map(({ ofServer }) => ofServer)),
	};
}

function* selectUsableKeys(): Reading<AccessSnapshot['keys']> {
	const plans = new Map((yield* selectPlans()).map((plan) => [plan.name, plan]));
	const keys = yield* selectKeyRows({ 'api_key.revoked_at': null, 'client.disabled_at': null });
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

function* selectUsableAccounts(
	nowMs: number,
	parts: readonly SnapshotPart[],
): Reading<AccessSnapshot['accounts']> {
	const found = yield* ask({
		accounts: selectAccountRows({ 'account.disabled_at': null, 'client.disabled_at': null }),
		goals: selectGoals(),
		segments: selectSegments(),
		models: selectActiveModels(),
		revocations: select<RevocationRow>`* FROM @revocation WHERE revoked_at > ${nowMs - caskLifetimeMs}`,
	});
	const goals = byAccount(found.goals);
	const segments = byAccount(found.segments);
	const models = byAccount(found.models);
	const revocations = byAccount(found.revocations);
	const [same, ratesOf, cadencesOf, revokedAt] = [
		keptOnce((value: unknown) => value) as <Value>(value: Value) => Value,
		keptOnce(baseRatesOf),
		keptOnce(
			({ table, renewalDays, graceDays, cancellationEvt }: AccountSettings & { table: string | null }) => {
				const learned = table === null ? emptyCadenceTable : JSON.parse(table);
				return new Cadences(learned, renewalDays, { setDays: graceDays }, cancellationEvt);
			},
		),
		keptOnce((rows: readonly RevocationRow[]) => new Map(rows.map((row) => [row.subject, row.revoked_at]))),
	];
	return new Map(
		found.accounts.map((account) => {
			const settings = same(accountSettings(account));
			const rates = goals(account.id).map(({ name, base_rates }) => ({ name, base_rates }));
			return [
				account.aid,
				{
					id: account.id,
					clientId: account.client_id,
					client: same(account.client),
					aid: account.aid,
					visitorSecret: account.visitor_secret,
					identitySecrets: identitySecretsOf(account),
					...settings,
					goals: same(goals(account.id).map(toGoal)),
					segments: same(segments(account.id).map(toSegment)),
					models: models(account.id).map(toActiveModel),
					baseRates: ratesOf(rates),
					cadences: cadencesOf({ ...settings, table: account.cadences }),
					revocations: revokedAt(revocations(account.id)),
					keepsConflicts: false,
					isFollowed: false,
					...Object.assign({}, ...parts.map((part) => part.ofAccount?.(account.id))),
				},
			];
		}),
	);
}

/** Most of thousands of accounts have what new ones have. What is made of equal values is kept once. */
function keptOnce<Given, Made>(make: (given: Given) => Made): (given: Given) => Made {
	const made = new Map<string, Made>();
	return (given) => made.getOrInsertComputed(JSON.stringify(given), () => make(given));
}

interface RevocationRow {
	readonly account_id: number;
	readonly subject: string;
	readonly revoked_at: number;
}

function identitySecretsOf({
	identity_secret: secret,
	previous_identity_secret: previous,
	previous_identity_until: untilMs,
}: AccountRow): IdentitySecrets | null {
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
