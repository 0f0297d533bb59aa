import { OperatorError } from '../../../core/errors.ts';

/** Types of messages that a webhook may subscribe to, and what each tells. */
const texts = {
	'segment.entered': 'a visitor has entered a segment',
	'segment.left': 'a visitor has left a segment',
	'score.band.changed': 'a score is now low, medium or high',
	'score.promise.broken': 'outcomes were outside what scores predicted, two weeks running',
	'goal.reached': 'a visitor has reached a goal',
	'subscription.conflict': 'an upload repeats a tid with other content',
} as const;

export type WebhookEvent = keyof typeof texts;
export const webhookEvents = Object.keys(texts) as WebhookEvent[];

/** All that is sent unasked, as the help lists it. */
export const messageTexts: Readonly<Record<string, string>> = {
	...texts,
	'segments.recomputed':
		'many visitors may have changed at once; goes to all webhooks for segment.… or score.band.changed',
};

/**
 * `segments.recomputed` is sent to webhooks for segments or bands, in place of a message for each visitor.
 * `webhook.test` is sent by command.
 */
export type MessageType = WebhookEvent | 'segments.recomputed' | 'webhook.test';

/** A receiver of changes of an account's visitors. */
export interface Webhook {
	readonly id: string;
	readonly url: string;
	readonly events: readonly WebhookEvent[];
	/** Whether messages contain the customer id. */
	readonly withCid: boolean;
	/** Whether the address may be a private one, or one of this machine. */
	readonly allowPrivate: boolean;
}

/** A webhook with what delivery needs. */
export interface ActiveWebhook extends Webhook {
	/** `whsec_…` */
	readonly secret: string;
	/** The secret before a rotation, which also signs until then. */
	readonly previous: { readonly secret: string; readonly untilMs: number } | null;
	/** Milliseconds since 1970; null while deliveries succeed. */
	readonly failingSinceMs: number | null;
}

/** Why a webhook gets no messages: disabled by command, answered 410, or failed for three days. */
export type DisabledReason = 'operator' | 'gone' | 'failing';

/** Whether a webhook gets messages of a type. */
export function wants({ events }: Pick<Webhook, 'events'>, type: MessageType): boolean {
	if (type === 'webhook.test') return false;
	if (type !== 'segments.recomputed') return events.includes(type);
	return (['segment.entered', 'segment.left', 'score.band.changed'] as const).some((event) =>
		events.includes(event),
	);
}

/** Parses the address of a receiver. @throws OperatorError */
export function receiverUrl(value: string): string {
	const parsed = URL.canParse(value) ? new URL(value) : undefined;
	if (!parsed || !/^https?:$/.test(parsed.protocol) || parsed.username + parsed.password !== '')
		throw new OperatorError(
			'It must be a URL such as https://crm.example/hooks, without a user name and password.',
		);
	if (value.length > 2000) throw new OperatorError('It must have at most 2,000 characters.');
	parsed.hash = '';
	return parsed.href;
}

/** Parses what a webhook is notified of, as people write it. @throws OperatorError */
export function webhookEventsOf(value: string): WebhookEvent[] {
	const names = [...new Set(value.trim().split(/[\s,]+/))];
	if (!names.every((name) => Object.hasOwn(texts, name)))
		throw new OperatorError(`It must be a list of ${webhookEvents.join(', ')}.`);
	return names as WebhookEvent[];
}
