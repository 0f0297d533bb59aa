import { randomBytes } from 'node:crypto';
import { dayMs } from '../../../core/durations.ts';
import { OperatorError } from '../../../core/errors.ts';
import { isoTime } from '../../../core/format/iso-time.ts';
import { deleteRows, insertRows, nextSeq, selectRows, updateRows } from '../../../core/store/control/rows.ts';
import type { ControlDatabase, ControlDoors, ControlTables } from '../../../core/store/control/tables.ts';
import type { ActiveWebhook, DisabledReason, Webhook } from '../domain/webhook.ts';

declare module '../../../core/store/control/tables.ts' {
	interface ControlTables {
		webhook: {
			id: string;
			account_id: number;
			url: string;
			events: string;
			with_cid: number;
			allow_private: number;
			secret: string;
			previous_secret: string | null;
			previous_until: number | null;
			created_at: number;
			disabled_at: number | null;
			disabled_why: DisabledReason | null;
			failing_since: number | null;
			seq: number;
		};
	}
}

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

type Row = ControlTables['webhook'];

function toWebhook(row: Row): StoredWebhook {
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
export function toActiveWebhook(row: Row): ActiveWebhook {
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

/** The webhooks that are not disabled, of all accounts, in order of creation. */
export function selectActiveWebhooks(database: ControlDatabase): Promise<Row[]> {
	return selectRows(database, 'webhook', { disabled_at: null }, 'seq');
}

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

async function selectRow(database: ControlDatabase, accountId: number, id: string): Promise<Row> {
	const [row] = await selectRows(database, 'webhook', { account_id: accountId, id });
	if (!row)
		throw new OperatorError(`The account has no webhook ${id}; 'caskade webhook list AID' shows all.`);
	return row;
}

/** Each method that names a webhook throws an OperatorError where there is none. */
export function webhookStore({ database, change, now }: ControlDoors) {
	/** @param changesOf what is to be different; nothing where it is undefined */
	const update = (accountId: number, id: string, changesOf: (row: Row) => Partial<Row> | undefined) =>
		change(async (transaction) => {
			const changes = changesOf(await selectRow(transaction, accountId, id));
			if (changes) await updateRows(transaction, 'webhook', { id }, changes);
			return selectRow(transaction, accountId, id);
		});
	return {
		/** In order of creation, without their secrets. */
		webhooks: async (accountId: number) =>
			(await selectRows(database, 'webhook', { account_id: accountId }, 'seq')).map(toWebhook),

		/** With its secrets, disabled or not. */
		async webhook(accountId: number, id: string): Promise<StoredWebhook & ActiveWebhook> {
			const row = await selectRow(database, accountId, id);
			return { ...toWebhook(row), ...toActiveWebhook(row) };
		},

		/** The secret is returned only here. @throws OperatorError where the account has too many */
		createWebhook: (
			accountId: number,
			settings: Omit<Webhook, 'id'>,
		): Promise<StoredWebhook & WebhookSecret> =>
			change(async (transaction) => {
				if ((await selectRows(transaction, 'webhook', { account_id: accountId })).length >= maxWebhooks)
					throw new OperatorError(`The account has ${maxWebhooks} webhooks already; delete one first.`);
				const row: Row = {
					id: `wh_${randomBytes(12).toString('hex')}`,
					account_id: accountId,
					...columnsOf(settings),
					secret: newSecret(),
					previous_secret: null,
					previous_until: null,
					created_at: now(),
					disabled_at: null,
					disabled_why: null,
					failing_since: null,
					seq: await nextSeq(transaction, 'webhook'),
				};
				await insertRows(transaction, 'webhook', row);
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
		setWebhookFailing: (id: string, sinceMs: number | null): Promise<void> =>
			change(async (transaction) => {
				await transaction
					.updateTable('webhook')
					.set({ failing_since: sinceMs })
					.where('id', '=', id)
					.where('failing_since', sinceMs === null ? 'is not' : 'is', null)
					.execute();
			}),

		/** Makes running servers look for messages that a command has added. */
		announceWebhooks: () => change(async () => {}),

		/** What waits for it is left to time. */
		deleteWebhook: (accountId: number, id: string): Promise<void> =>
			change(async (transaction) => {
				await selectRow(transaction, accountId, id);
				await deleteRows(transaction, 'webhook', { id });
			}),
	};
}
