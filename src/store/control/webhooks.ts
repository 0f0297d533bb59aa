import { randomBytes } from 'node:crypto';
import type { ActiveWebhook, DisabledReason, Webhook } from '../../domain/webhook.ts';
import { dayMs } from '../../durations.ts';
import { OperatorError } from '../../errors.ts';
import { isoTime } from '../../format/iso-time.ts';
import { type ControlDatabase, type ControlTables, nextSeq } from './tables.ts';

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
		...{ id, url, events, withCid, allowPrivate },
		secret: row.secret,
		previous:
			row.previous_secret === null ? null : { secret: row.previous_secret, untilMs: row.previous_until ?? 0 },
		failingSinceMs: row.failing_since,
	};
}

/** In order of creation. */
export async function selectWebhooks(database: ControlDatabase, accountId: number): Promise<StoredWebhook[]> {
	const rows = await database
		.selectFrom('webhook')
		.selectAll()
		.where('account_id', '=', accountId)
		.orderBy('seq')
		.execute();
	return rows.map(toWebhook);
}

/** The webhooks that are not disabled, of all accounts, in order of creation. */
export function selectActiveWebhooks(database: ControlDatabase): Promise<Row[]> {
	return database.selectFrom('webhook').selectAll().where('disabled_at', 'is', null).orderBy('seq').execute();
}

/** @throws OperatorError where the account has too many */
export async function insertWebhook(
	database: ControlDatabase,
	accountId: number,
	settings: Omit<Webhook, 'id'>,
	nowMs: number,
): Promise<StoredWebhook & WebhookSecret> {
	if ((await selectWebhooks(database, accountId)).length >= maxWebhooks)
		throw new OperatorError(`The account has ${maxWebhooks} webhooks already; delete one first.`);
	const row: Row = {
		id: `wh_${randomBytes(12).toString('hex')}`,
		account_id: accountId,
		...columnsOf(settings),
		secret: newSecret(),
		previous_secret: null,
		previous_until: null,
		created_at: nowMs,
		disabled_at: null,
		disabled_why: null,
		failing_since: null,
		seq: await nextSeq(database, 'webhook'),
	};
	await database.insertInto('webhook').values(row).execute();
	return { ...toWebhook(row), secret: row.secret };
}

/** With another URL, it counts as working until it fails there. @throws OperatorError where there is none */
export async function updateWebhook(
	database: ControlDatabase,
	accountId: number,
	id: string,
	settings: Omit<Webhook, 'id'>,
): Promise<StoredWebhook> {
	const row = await selectRow(database, accountId, id);
	await database
		.updateTable('webhook')
		.set({ ...columnsOf(settings), ...(settings.url !== row.url && { failing_since: null }) })
		.where('id', '=', id)
		.execute();
	return toWebhook(await selectRow(database, accountId, id));
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

/** Gives a webhook a new secret; the current one also signs for a day. @throws OperatorError where there is none */
export async function rotateSecret(
	database: ControlDatabase,
	accountId: number,
	id: string,
	nowMs: number,
): Promise<WebhookSecret> {
	const { secret: previous } = await selectRow(database, accountId, id);
	const secret = newSecret();
	await database
		.updateTable('webhook')
		.set({ secret, previous_secret: previous, previous_until: nowMs + previousSecretMs })
		.where('id', '=', id)
		.execute();
	return { id, secret };
}

/** A webhook with its secrets, disabled or not. @throws OperatorError where there is none */
export async function selectWebhook(
	database: ControlDatabase,
	accountId: number,
	id: string,
): Promise<StoredWebhook & ActiveWebhook> {
	const row = await selectRow(database, accountId, id);
	return { ...toWebhook(row), ...toActiveWebhook(row) };
}

/**
 * Enables or disables a webhook. Disabling twice keeps the first time and reason.
 * @throws OperatorError where there is none
 */
export async function setWebhookDisabled(
	database: ControlDatabase,
	accountId: number,
	id: string,
	why: DisabledReason | null,
	nowMs: number,
): Promise<StoredWebhook> {
	const { disabled_at } = await selectRow(database, accountId, id);
	if ((disabled_at === null) !== (why === null))
		await database
			.updateTable('webhook')
			.set({
				disabled_at: why === null ? null : nowMs,
				disabled_why: why,
				...(why === null && { failing_since: null }),
			})
			.where('id', '=', id)
			.execute();
	return toWebhook(await selectRow(database, accountId, id));
}

/** Records since when deliveries fail; null if they succeed. Ignores webhooks that were deleted. */
export async function updateFailing(
	database: ControlDatabase,
	id: string,
	sinceMs: number | null,
): Promise<void> {
	await database
		.updateTable('webhook')
		.set({ failing_since: sinceMs })
		.where('id', '=', id)
		.where('failing_since', sinceMs === null ? 'is not' : 'is', null)
		.execute();
}

/** @throws OperatorError where there is none */
export async function deleteWebhook(database: ControlDatabase, accountId: number, id: string): Promise<void> {
	await selectRow(database, accountId, id);
	await database.deleteFrom('webhook').where('id', '=', id).execute();
}

async function selectRow(database: ControlDatabase, accountId: number, id: string): Promise<Row> {
	const row = await database
		.selectFrom('webhook')
		.selectAll()
		.where('account_id', '=', accountId)
		.where('id', '=', id)
		.executeTakeFirst();
	if (!row)
		throw new OperatorError(`The account has no webhook ${id}; 'caskade webhook list AID' shows all.`);
	return row;
}
