import { randomBytes } from 'node:crypto';
import { dayMs } from '../../../core/durations.ts';
import { OperatorError } from '../../../core/errors.ts';
import { isoTime } from '../../../core/format/iso-time.ts';
import { type ControlDoors, nextSeq } from '../../../core/store/control/control-tables.ts';
import {
	type ColumnValues,
	changing,
	having,
	inserting,
	type Reading,
	raw,
	select,
	sql,
} from '../../../core/store/steps.ts';
import type { ActiveWebhook, DisabledReason, Webhook } from '../domain/webhook.ts';

/** How long messages are also signed with the previous secret after a rotation. */
const previousSecretMs = dayMs;
/** Each webhook costs a row per message. */
const maxWebhooks = 20;
const secretPrefix = 'whsec_';

/** A webhook as commands show it. */
export interface StoredWebhook extends Webhook {
	readonly createdAt: string;
	readonly disabledAt: string | null;
	readonly disabledWhy: DisabledReason | null;
	readonly failingSince: string | null;
}

/** A webhook with its secret, which is shown only when it is created. */
export interface WebhookSecret {
	readonly id: string;
	readonly secret: string;
}

interface WebhookRow {
	readonly id: string;
	readonly account_id: number;
	readonly url: string;
	readonly events: string;
	readonly with_cid: number;
	readonly allow_private: number;
	readonly secret: string;
	readonly previous_secret: string | null;
	readonly previous_until: number | null;
	readonly created_at: number;
	readonly disabled_at: number | null;
	readonly disabled_why: DisabledReason | null;
	readonly failing_since: number | null;
}

function toWebhook(row: WebhookRow): StoredWebhook {
	return {
		id: row.id,
		url: row.url,
		events: JSON.parse(row.events),
		withCid: row.with_cid === 1,
		allowPrivate: row.allow_private === 1,
		createdAt: isoTime(row.created_at),
		disabledAt: isoTime(row.disabled_at),
		disabledWhy: row.disabled_why,
		failingSince: isoTime(row.failing_since),
	};
}

/** A webhook that is not disabled, with its secrets. */
export function toActiveWebhook(row: WebhookRow): ActiveWebhook {
	const { id, url, events, withCid, allowPrivate } = toWebhook(row);
	return {
		id,
		url,
		events,
		withCid,
		allowPrivate,
		secret: row.secret,
		previous:
			row.previous_secret === null ? null : { secret: row.previous_secret, untilMs: row.previous_until ?? 0 },
		failingSinceMs: row.failing_since,
	};
}

/** In order of creation. */
export const selectWebhooks = (columns: ColumnValues) =>
	select<WebhookRow>`* FROM @webhook WHERE ${having(columns)} ORDER BY seq`;

function columnsOf({ url, events, withCid, allowPrivate }: Omit<Webhook, 'id'>) {
	return {
		url,
		events: JSON.stringify(events),
		with_cid: withCid ? 1 : 0,
		allow_private: allowPrivate ? 1 : 0,
	};
}

function newSecret(): string {
	return secretPrefix + randomBytes(24).toString('base64');
}

function* selectRow(accountId: number, id: string): Reading<WebhookRow> {
	const [row] = yield* selectWebhooks({ account_id: accountId, id });
	if (!row)
		throw new OperatorError(`The account has no webhook ${id}; 'caskade webhook list AID' shows all.`);
	return row;
}

/** Each method that names a webhook throws an OperatorError where there is none. */
export function webhookStore({ read, change, together, now }: ControlDoors) {
	/** @param changesOf what is to be different; nothing where it is undefined */
	const update = (accountId: number, id: string, changesOf: (row: WebhookRow) => ColumnValues | undefined) =>
		change(function* () {
			const changes = changesOf(yield* selectRow(accountId, id));
			if (changes) yield* sql`UPDATE @webhook SET ${changing(changes)} WHERE id = ${id}`;
			return yield* selectRow(accountId, id);
		});
	return {
		/** In order of creation, without their secrets. */
		webhooks: async (accountId: number) =>
			(await read(selectWebhooks({ account_id: accountId }))).map(toWebhook),

		/** With its secrets, disabled or not. */
		async webhook(accountId: number, id: string): Promise<StoredWebhook & ActiveWebhook> {
			const row = await read(selectRow(accountId, id));
			return { ...toWebhook(row), ...toActiveWebhook(row) };
		},

		/** The secret is returned only here. @throws OperatorError where the account has too many */
		createWebhook: (
			accountId: number,
			settings: Omit<Webhook, 'id'>,
		): Promise<StoredWebhook & WebhookSecret> =>
			change(function* () {
				if ((yield* selectWebhooks({ account_id: accountId })).length >= maxWebhooks)
					throw new OperatorError(`The account has ${maxWebhooks} webhooks already; delete one first.`);
				const id = `wh_${randomBytes(12).toString('hex')}`;
				yield* sql`INSERT INTO @webhook ${inserting({
					id,
					account_id: accountId,
					...columnsOf(settings),
					secret: newSecret(),
					created_at: now(),
					seq: yield* nextSeq('webhook'),
				})}`;
				const row = yield* selectRow(accountId, id);
				return { ...toWebhook(row), secret: row.secret };
			}),

		/** The previous secret signs as well for a day. */
		async rotateWebhookSecret(accountId: number, id: string): Promise<WebhookSecret> {
			const { secret } = await update(accountId, id, ({ secret: previous }) => ({
				secret: newSecret(),
				previous_secret: previous,
				previous_until: now() + previousSecretMs,
			}));
			return { id, secret };
		},

		/** With another URL, it counts as working until it fails there. */
		updateWebhook: async (
			accountId: number,
			id: string,
			settings: Omit<Webhook, 'id'>,
		): Promise<StoredWebhook> =>
			toWebhook(
				await update(accountId, id, ({ url }) => ({
					...columnsOf(settings),
					...(settings.url !== url && { failing_since: null }),
				})),
			),

		/** Disables a webhook, or enables it with null. Disabling twice keeps the first time and reason. */
		setWebhookDisabled: async (
			accountId: number,
			id: string,
			why: DisabledReason | null,
		): Promise<StoredWebhook> =>
			toWebhook(
				await update(accountId, id, ({ disabled_at }) => {
					if ((disabled_at === null) === (why === null)) return undefined;
					return why === null
						? { disabled_at: null, disabled_why: null, failing_since: null }
						: { disabled_at: now(), disabled_why: why };
				}),
			),

		/** Since when deliveries fail; null where they succeed. Ignores webhooks that were deleted. */
		async setWebhookFailing(id: string, sinceMs: number | null): Promise<void> {
			const isOther = raw(`failing_since IS ${sinceMs === null ? 'NOT NULL' : 'NULL'}`);
			await change(() => sql`UPDATE @webhook SET failing_since = ${sinceMs} WHERE id = ${id} AND ${isOther}`);
		},

		/** Makes running servers look for messages that a command has added. */
		announceWebhooks: () => together(async () => {}),

		/** What waits for it is left to time. */
		deleteWebhook: (accountId: number, id: string): Promise<void> =>
			change(function* () {
				yield* selectRow(accountId, id);
				yield* sql`DELETE FROM @webhook WHERE id = ${id}`;
			}),
	};
}
