import { compileProblems, describeProblems } from './problems.ts';
import { optional, text, textLimits, textRule } from './texts.ts';
import { compileCheck, type Schema, type Static, Type } from './type.ts';

/** Maximum number of events in a hit. */
const maxEvents = 20;

const longText = (max: number) => Type.String({ maxLength: max });

const eventSchema = Type.Object(
	{
		name: text('What happened. It may reach a goal.', ['checkout']),
		tid: optional(Type.String(textLimits), textRule, {
			description:
				'Transaction id of a sale that starts here, or the id with its signature; an upload with the same tid completes it. What is said of `cid` without a signature holds for it, too.',
			examples: ['order-1001'],
		}),
		rvn: optional(
			Type.Integer({ minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER }),
			'an integer',
			{ description: 'Revenue, in the smallest unit of the currency.', examples: [499] },
		),
		currency: optional(Type.String({ pattern: '^[A-Z]{3}$' }), 'three capital letters such as GBP', {
			description: 'ISO 4217.',
			examples: ['GBP'],
		}),
	},
	{ description: 'Something that happened on the page.' },
);

const eventsOptions = { maxItems: maxEvents, 'x-must-be': `an array of at most ${maxEvents} events` };

const hitFields = {
	aid: text('Account token of the client.', ['c-a-acme-uk']),
	vid: optional(Type.String(textLimits), textRule, {
		description: 'The visitor, from an earlier answer. An unknown one is replaced.',
		examples: ['0f6f3b2c9a1d4e5f8a7b6c5d4e3f2a1b'],
	}),
	seed: optional(Type.String(textLimits), textRule, {
		description:
			'128 random bits as 32 lower-case hex digits, made and kept by who sends hits, for as long as the visitor is not known. The same seed is the same visitor, who is told in the answer. Ignored where `vid` is known, or where it is something else.',
		examples: ['7c9e6679f7b84a0e9d3b1f2a5c8d4e60'],
	}),
	firstVid: optional(Type.String(textLimits), textRule, {
		description:
			'The visitor that this browser was first, from an earlier answer, where `vid` is of another customer. Whose a hit with `cid` is follows from it.',
		examples: ['9b2e4f6a8c0d1e3f5a7b9c1d3e5f7a9b'],
	}),
	sid: optional(Type.String(textLimits), textRule, {
		description: 'The visit, from an earlier answer.',
		examples: ['5d1c6a7e8f9048b1a2c3d4e5f6a7b8c9'],
	}),
	cookieDomain: optional(Type.String({ pattern: '^[A-Za-z0-9.-]{1,253}$' }), 'a domain', {
		description:
			"The widest domain that the page's cookies can have, where hits go to the page's own site: cookies of the answer have it, too. Empty: the host's alone. A hit without it and without a seed gets no cookie.",
		examples: ['shop.example'],
	}),
	url: optional(longText(8192), 'a string of at most 8192 characters', {
		description: 'Address of the page. Only utm parameters of its query are stored.',
		examples: ['https://shop.example/pricing?utm_source=news'],
	}),
	referrer: optional(longText(8192), 'a string of at most 8192 characters', {
		description: 'Where the visitor came from.',
		examples: ['https://www.google.com/'],
	}),
	title: optional(longText(2000), 'a string of at most 2000 characters', {
		description: "The page's title.",
		examples: ['Pricing'],
	}),
	cid: optional(Type.String(textLimits), textRule, {
		description:
			'Customer id, if the page knows it, or the id with its signature. Without one, scores and segments leave out what was uploaded before, unless the account trusts ids.',
		examples: ['customer-42'],
	}),
	events: Type.Optional(Type.Array(eventSchema, eventsOptions)),
};

export const hitSchema = Type.Object(hitFields, {
	description:
		'A page view, or something that happened on the page. Unknown properties are ignored. A number instead of a text is taken as its text. Any other wrong value costs itself alone, and the answer names it in `ignored`; an event without a valid name, or a hit without a valid account, is not stored.',
});

export type HitRequest = Static<typeof hitSchema>;

export const hitCheck = compileCheck(hitSchema);

/** Checks the hit as a whole; its events are checked one by one. */
const hitProblems = compileProblems(
	Type.Object({ ...hitFields, events: Type.Optional(Type.Array(Type.Unknown(), eventsOptions)) }),
);
const eventProblems = compileProblems(eventSchema);

type Check = (value: unknown) => boolean;
/** @returns undefined where the value goes */
type Change = (value: unknown, check: Check) => unknown;

const fieldChecks = checksOf(hitFields);
const eventChecks = checksOf(eventSchema.properties);

function checksOf(fields: Readonly<Record<string, Schema>>): ReadonlyMap<string, Check> {
	return new Map(Object.entries(fields).map(([name, schema]) => [name, compileCheck(schema)]));
}

/**
 * Takes numbers as texts where a text is wanted, and leaves out all other wrong values, and events without a name. Without its
 * account, or with more events than a hit may have, a hit stays wrong.
 */
export function mendHit(sent: object): { hit: object; ignored: string } {
	const texts = changeFields(sent, (value, check) =>
		typeof value === 'number' ? asText(value, check) : value,
	);
	const hit = changeFields(texts, (value, check) => (check(value) ? value : undefined));
	const { events } = hit as { events?: unknown };
	const named = Array.isArray(events) && { events: events.filter((event) => 'name' in event) };
	return { hit: { ...hit, ...named }, ignored: describeProblems(findHitProblems(texts)) };
}

/** A number that has lost digits is no id: its text would be another customer's. */
function asText(value: number, check: Check): unknown {
	const isExact = Number.isInteger(value) ? Number.isSafeInteger(value) : Number.isFinite(value);
	return isExact && !check(value) && check(`${value}`) ? `${value}` : value;
}

/** Changes the fields of a hit, and those of its events. */
function changeFields(hit: object, change: Change): object {
	const fields = changeEach(hit, fieldChecks, change);
	const { aid, events } = hit as { aid?: unknown; events?: unknown };
	if (!Array.isArray(events)) return { ...fields, aid };
	const objects = events.map((event) => (typeof event === 'object' && event !== null ? event : {}));
	return { ...fields, aid, events: objects.map((event) => changeEach(event, eventChecks, change)) };
}

function changeEach(values: object, checks: ReadonlyMap<string, Check>, change: Change): object {
	const changed = Object.entries(values).map(([name, value]) => {
		const check = checks.get(name);
		return [name, check ? change(value, check) : value];
	});
	return Object.fromEntries(changed.filter(([, value]) => value !== undefined));
}

export function* findHitProblems(body: unknown): Iterable<string> {
	yield* hitProblems(body, '');
	const events = (body as { events?: unknown } | null)?.events;
	if (!Array.isArray(events)) return;
	for (const [index, event] of events.slice(0, maxEvents).entries())
		yield* eventProblems(event, `events[${index}]`);
}
