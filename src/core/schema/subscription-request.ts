import type { SubscriptionEvent, UploadedEvent } from '../domain/subscription-event.ts';
import { dayMs, minuteMs } from '../durations.ts';
import { compileProblems } from './problems.ts';
import { optional, plainText, text, textLimits, textRule } from './texts.ts';
import { compileCheck, type Schema, type Static, Type } from './type.ts';

/** How far ahead the clocks of senders may be. */
const maxAheadMs = minuteMs;
/** Older events come by `caskade import`. */
const maxAgeDays = 400;
const timeForm = '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d(:\\d\\d(\\.\\d{1,9})?)?(Z|[+-]\\d\\d:\\d\\d)$';
const timeRule = `a time with a zone, for example 2026-01-31T12:00:00Z, not in the future and at most ${maxAgeDays} days ago`;

const eventSchema = Type.Object(
	{
		tid: text('Transaction id. Keeps sales unique: of events with the same tid, the first is stored.', [
			'order-1001',
		]),
		subid: text("Id of the subscription in the client's own system. May equal tid.", ['sub-77']),
		cid: optional(Type.String(textLimits), textRule, {
			description: 'Customer id. Links external and internal data. Null or empty: none.',
			examples: ['customer-42'],
		}),
		evt: text('Type of the subscription event.', ['newsletter']),
		rvn: optional(
			Type.Integer({ minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER }),
			'an integer',
			{ description: 'Revenue in British pence; negative for a refund. Null or empty: 0.', examples: [499] },
		),
		at: optional(Type.String({ format: 'date-time', maxLength: 40, pattern: timeForm }), timeRule, {
			description: `When the event happened: ISO 8601 with a zone, at most ${maxAgeDays} days ago. Null or empty: when it arrives.`,
			examples: ['2026-01-31T12:00:00Z'],
		}),
	},
	{ description: 'A subscription event.' },
);

/** An event in a receipt. */
export const storedEventSchema = Type.Object(
	{
		tid: Type.String(),
		subid: Type.String(),
		cid: Type.Union([Type.String(), Type.Null()]),
		evt: Type.String(),
		rvn: Type.Integer(),
		at: Type.Optional(
			Type.String({ format: 'date-time', description: 'When it happened, if it was uploaded with a time.' }),
		),
	} satisfies Record<keyof SubscriptionEvent | 'at', Schema>,
	{ description: 'The stored event. `cid` is null after an erasure, too.' },
);

export const exampleEvent: SubscriptionEvent = {
	tid: 'order-1001',
	subid: 'sub-77',
	cid: 'customer-42',
	evt: 'newsletter',
	rvn: 499,
};

const dataOptions = {
	minItems: 1,
	description: "At most 30 subscription events, unless the key's usage plan says otherwise.",
	'x-must-be': 'an array of at least one subscription event',
};

const uploadFields = {
	aid: text('Account token of the client.', ['c-a-acme-uk']),
	data: Type.Array(eventSchema, dataOptions),
	simulate: Type.Optional(
		Type.Boolean({
			default: false,
			description: 'Do everything but store. Counts toward the quota.',
			'x-must-be': 'a boolean',
		}),
	),
};

/** The body of `POST /subscription`. */
export const uploadSchema = Type.Object(uploadFields, {
	description: 'Subscription events of one account. Unknown properties are ignored.',
});

export const uploadCheck = compileCheck(uploadSchema);
/** Checks a body whose texts are plain, see `plainText`. */
export const plainUploadCheck = compileCheck(uploadSchema, plainText);
export const accountCheck = compileCheck(uploadFields.aid);
/** Checks the request as a whole; its events are checked one by one. */
const uploadProblems = compileProblems(
	Type.Object({ ...uploadFields, data: Type.Array(Type.Unknown(), dataOptions) }),
);
export const eventCheck = compileCheck(eventSchema);
export const eventProblems = compileProblems(eventSchema);

/** An event in a request. */
export type SentEvent = Static<typeof eventSchema>;

/** Converts a valid event of a request to the event that is stored. */
export function toEvent({ tid, subid, cid, evt, rvn, at }: SentEvent): UploadedEvent {
	if (at) return { tid, subid, cid: cid || null, evt, rvn: rvn || 0, atMs: Date.parse(at) };
	return { tid, subid, cid: cid || null, evt, rvn: rvn || 0 };
}

/** Times that are of no calendar, of the future or too long ago, one sentence each. */
export function findTimeProblems(events: readonly SentEvent[], nowMs: number): string[] {
	return events.flatMap((event, index) => timeProblems(event, nowMs).map((one) => `data[${index}].${one}`));
}

/** What is wrong with the time of one event. */
export function timeProblems({ at }: Pick<SentEvent, 'at'>, nowMs: number): string[] {
	return !at || isTime(at, nowMs) ? [] : [`at must be ${timeRule}`];
}

function isTime(at: string, nowMs: number): boolean {
	const atMs = Date.parse(at);
	// Date.parse takes 30 February for 2 March.
	const day = new Date(`${at.slice(0, 10)}T00:00:00Z`);
	const isDay = !Number.isNaN(day.getTime()) && day.toISOString().startsWith(at.slice(0, 10));
	return isDay && atMs <= nowMs + maxAheadMs && atMs >= nowMs - maxAgeDays * dayMs;
}

/** No plan allows more events. In a larger request, the events after these are not checked one by one. */
const maxNamedEvents = 1000;

/**
 * Lists every problem of a request, one sentence each.
 * @param maxEvents the limit of the key's usage plan
 */
export function* findUploadProblems(body: unknown, maxEvents: number): Iterable<string> {
	yield* uploadProblems(body, '');
	const data = (body as { data?: unknown } | null)?.data;
	if (!Array.isArray(data)) return;
	if (data.length > maxEvents) yield `data must have at most ${maxEvents} objects, it has ${data.length}`;
	for (const [index, event] of data.slice(0, maxNamedEvents).entries())
		yield* eventProblems(event, `data[${index}]`);
}
