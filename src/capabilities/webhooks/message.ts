import type { KnownAccount } from '../../core/store/control/control-store.ts';
import { type MessageType, type Webhook, wants } from './domain/webhook.ts';
import type { NewMessage } from './store/outbox.ts';
import type { Transition } from './transitions.ts';

/** The visitor that a message is about. */
interface MessageSubject {
	readonly vid: string;
	/** The last customer id that the visitor has shown. */
	readonly cid: string | null;
}

type Data = Readonly<Record<string, unknown>>;

interface Message {
	readonly type: MessageType;
	readonly aid: string;
	readonly sequence: number;
	readonly atMs: number;
	readonly subject?: MessageSubject;
	readonly data: Data;
}

/** Creates a message for each webhook that wants this type. */
export function messagesTo(webhooks: readonly Webhook[], message: Message): NewMessage[] {
	const { type, sequence, subject } = message;
	return webhooks
		.filter((webhook) => wants(webhook, type))
		.map(({ id, withCid }) => ({
			webhook: id,
			sequence,
			type,
			vid: subject?.vid ?? null,
			body: bodyOfMessage(message, withCid),
		}));
}

/** The JSON body of a message. */
export function bodyOfMessage(
	{ type, aid, sequence, atMs, subject, data }: Message,
	withCid: boolean,
): string {
	return JSON.stringify({
		type,
		timestamp: new Date(atMs).toISOString(),
		data: {
			aid,
			...(subject && { vid: subject.vid, ...(withCid && { cid: subject.cid }) }),
			sequence,
			...data,
		},
	});
}

/** The data of a message about a transition. */
export function dataOf(
	{ segments }: Pick<KnownAccount, 'segments'>,
	transition: Transition,
	atMs: number,
): Data {
	const { type, ...fields } = transition;
	if ('segment' in fields) {
		const { name = fields.segment } = segments.find(({ id }) => id === fields.segment) ?? {};
		const since = type === 'segment.entered' && { since: new Date(atMs).toISOString() };
		return { segment: fields.segment, name, ...since };
	}
	if ('band' in fields) return fields;
	const { goal, number, reachedAtMs } = fields;
	return { goal, number, reachedAt: new Date(reachedAtMs).toISOString() };
}
