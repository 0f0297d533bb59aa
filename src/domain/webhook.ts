/** Types of messages that a webhook may ask for. */
export const webhookEvents = [
	'segment.entered',
	'segment.left',
	'score.band.changed',
	'goal.reached',
	'subscription.conflict',
] as const;

export type WebhookEvent = (typeof webhookEvents)[number];

/**
 * `segments.recomputed` is sent to whoever asks for segments or bands, in place of a message for each visitor; `webhook.test`
 * is sent by command.
 */
export type MessageType = WebhookEvent | 'segments.recomputed' | 'webhook.test';

/** Where changes of an account's visitors are sent. */
export interface Webhook {
	readonly id: string;
	readonly url: string;
	readonly events: readonly WebhookEvent[];
	/** Whether messages have the customer id. */
	readonly withCid: boolean;
	/** Whether the address may be a private one, or one of this machine. */
	readonly allowPrivate: boolean;
}

/** What delivery needs besides. */
export interface ActiveWebhook extends Webhook {
	/** `whsec_…` */
	readonly secret: string;
	/** After a rotation: signs as well until then. */
	readonly previous: { readonly secret: string; readonly untilMs: number } | null;
	/** Milliseconds since 1970; null while deliveries succeed. */
	readonly failingSinceMs: number | null;
}

/** Why a webhook gets no messages: by command, its answer 410, or failures for three days. */
export type DisabledReason = 'operator' | 'gone' | 'failing';

/** Whether a webhook gets messages of a type. */
export function wants({ events }: Pick<Webhook, 'events'>, type: MessageType): boolean {
	if (type === 'webhook.test') return false;
	if (type !== 'segments.recomputed') return events.includes(type);
	return (['segment.entered', 'segment.left', 'score.band.changed'] as const).some((event) =>
		events.includes(event),
	);
}
