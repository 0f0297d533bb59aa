import { deviceOf, isBot } from '../../core/collect/device.ts';
import { toHitRecord } from '../../core/collect/hit-record.ts';
import { webUrl } from '../../core/collect/page-address.ts';
import type { ChannelRule } from '../../core/domain/channel-rule.ts';
import type { HitRecord } from '../../core/domain/stored-hit.ts';
import { eventLabelNames, subscriptionEventFields } from '../../core/domain/subscription-event.ts';
import { parseExactJson } from '../../core/format/exact-json.ts';
import { findHitProblems, hitSchema } from '../../core/schema/hit-request.ts';
import { compileProblems, describeProblems } from '../../core/schema/problems.ts';
import { eventCheck, toEvent } from '../../core/schema/subscription-request.ts';
import { optional, text, textLimits, textRule } from '../../core/schema/texts.ts';
import { compileCheck, type Static, Type } from '../../core/schema/type.ts';
import { changedIds } from './changed-ids.ts';
import { fileEventProblems } from './event-problems.ts';
import { otherCurrency } from './file-currency.ts';
import type { HistoryEvent } from './store/past-history.ts';

/** The content of a line. */
export type HistoryEntry =
	| HitLine
	| { readonly type: 'subscription'; readonly event: HistoryEvent }
	/** A hit by a bot, judged by its user agent. */
	| { readonly type: 'bot' };

/** How a file names a visitor: by any name, or by the seed that its browser had. */
export type VisitorName = { readonly name: string } | { readonly seed: string };

/** A past hit. Visitor and visit have the names that the file gives them. */
export interface HitLine {
	readonly type: 'hit';
	readonly atMs: number;
	readonly visitor: VisitorName;
	readonly visit: string | null;
	readonly body: HitRecord;
}

export interface LineContext {
	/** Times in the future are rejected. */
	readonly nowMs: number;
	readonly channelRules: readonly ChannelRule[];
	/** What amounts of the account are in. */
	readonly currency?: string;
	/** Whether ids stay that look as if a spreadsheet had changed them. */
	readonly idsAsWritten?: boolean;
}

const words = (maxCharacters: number) => Type.String({ maxLength: maxCharacters });
const timeRule = 'a past time with its zone, such as 2026-01-31T10:00:00Z';

const note = { description: '', examples: [] };
const name = optional(Type.String(textLimits), textRule, note);
const mark = Type.Optional(
	Type.Union([Type.Literal(true), Type.Literal('true'), Type.Literal(''), Type.Null()], {
		'x-must-be': 'true',
	}),
);

/** Fields that only history lines have, besides those of hits and uploads. The last three are of exports: nothing else tells them. */
const own = {
	visit: name,
	channel: name,
	device: name,
	userAgent: optional(words(2000), 'a string of at most 2000 characters', note),
	source: name,
	isByApp: mark,
	isCidUnproven: mark,
};
const visitor = text('The visitor; any name.', ['user-4711']);
const seed = Type.String({
	pattern: '^[0-9a-f]{32}$',
	description: 'The seed of the browser, in place of a name.',
	'x-must-be': '32 lower-case hex digits',
});
const { aid: _, vid: __, sid: ___, seed: ____, cookieDomain: _____, ...shared } = hitSchema.properties;
const hitLine = Type.Object({ ...own, ...shared });
type HitFields = Static<typeof hitLine>;
const namedCheck = compileCheck(Type.Object({ visitor, ...own, ...shared }));
const seededCheck = compileCheck(Type.Object({ seed, ...own, ...shared }));
const namedProblems = compileProblems(Type.Object({ visitor, ...own }));
const seededProblems = compileProblems(Type.Object({ seed, ...own }));

/** Fields whose ids spreadsheets may change. */
export const historyIds = ['tid', 'subid', 'cid', 'visitor', 'visit'];
/** All that a line may have. */
export const historyFields: readonly string[] = [
	...new Set([
		'type',
		'at',
		'visitor',
		'seed',
		...Object.keys(hitLine.properties),
		...subscriptionEventFields,
	]),
];

/**
 * Validates one line's fields.
 * @returns the entry, or a text that lists all problems, without the values, which may be personal data
 */
export function readHistoryLine(fields: unknown, context: LineContext): HistoryEntry | string {
	if (typeof fields !== 'object' || fields === null || Array.isArray(fields))
		return 'the line must be an object';
	// The time is the line's; that of an uploaded event has bounds of its own.
	const { type, at, ...others } = fields as Record<string, unknown>;
	const { events } = others;
	if (type !== 'hit' && type !== 'subscription') return 'type must be hit or subscription';
	const atMs = typeof at === 'string' ? timeOf(at) : null;
	const isPast = atMs !== null && atMs <= context.nowMs;
	const changed = context.idsAsWritten
		? []
		: changedIds(fields as Record<string, unknown>, historyIds, eventLabelNames);
	if (type === 'hit') {
		const hit = events === undefined ? fields : { ...fields, events: eventsOf(events) };
		const whose = visitorOf(hit);
		return isPast && whose && changed.length === 0 && isWebAddress((hit as HitFields).url)
			? readHit(hit, whose, { atMs, ...context })
			: describe(isPast, [...hitProblems(hit), ...changed]);
	}
	const problems = [...foreignFields(fields), ...otherCurrency(fields, context.currency), ...changed];
	if (!isPast || problems.length > 0 || !eventCheck(others))
		return describe(isPast, [...problems, ...fileEventProblems(others)]);
	return { type, event: { ...toEvent(others), receivedAtMs: atMs } };
}

/** Whose a hit is; null where a field of the line is invalid. */
function visitorOf(hit: object): VisitorName | null {
	if (!hasValue(hit, 'seed')) return namedCheck(hit) ? { name: hit.visitor } : null;
	return seededCheck(hit) && !hasValue(hit, 'visitor') ? { seed: hit.seed } : null;
}

function hasValue(fields: object, name: string): boolean {
	const value = (fields as Record<string, unknown>)[name];
	return value !== undefined && value !== null && value !== '';
}

function readHit(
	fields: HitFields,
	visitor: VisitorName,
	{ atMs, channelRules }: LineContext & { readonly atMs: number },
): HistoryEntry {
	const { visit, channel, source, device, userAgent, isByApp, isCidUnproven } = fields;
	if (userAgent && isBot(userAgent)) return { type: 'bot' };
	const body = toHitRecord(
		fields,
		channelRules,
		device || deviceOf(userAgent || undefined),
		userAgent || undefined,
		{ cid: Boolean(isCidUnproven), tidsOf: unprovenTids(fields) },
	);
	return {
		type: 'hit',
		atMs,
		visitor,
		visit: visit || null,
		body: {
			...body,
			...(channel && { channel }),
			...(source && { source }),
			...(isByApp && { isByApp: true as const }),
		},
	};
}

/** Which events of an exported hit show a `tid` that nothing proves. */
function unprovenTids({ events = [] }: HitFields): ReadonlySet<number> {
	return new Set(
		events.flatMap((event, index) =>
			event.tid && 'isTidUnproven' in event && event.isTidUnproven ? [index] : [],
		),
	);
}

/** Events may be plain names. In CSV they are a text: JSON, or names separated by `;`. */
function eventsOf(events: unknown): unknown {
	if (typeof events === 'string')
		return events.startsWith('[') ? eventsOf(parseJson(events)) : events.split(';').map((name) => ({ name }));
	if (events === null) return [];
	if (!Array.isArray(events)) return events;
	return events.map((event) => (typeof event === 'string' ? { name: event } : event));
}

function parseJson(text: string): unknown {
	try {
		return parseExactJson(text);
	} catch {
		return false;
	}
}

/** What a line of an upload must not have: it would be thought to join the event to somebody. */
function foreignFields(fields: object): string[] {
	return ['visitor', 'seed', 'visit']
		.filter((name) => hasValue(fields, name))
		.map((name) => `only hits have ${name}; a subscription event is joined by tid or cid`);
}

/** A hit may be of no page; what is no address is a mistake. */
function isWebAddress(url: string | null | undefined): boolean {
	return !url || webUrl(url) !== null;
}

function hitProblems(fields: object): string[] {
	// The command names the account. Visitor and visit were checked as fields of the line.
	const hit = { ...fields, aid: 'account', vid: null, sid: null, seed: null, cookieDomain: null };
	const { url } = fields as { readonly url?: unknown };
	const isSeeded = hasValue(fields, 'seed');
	return [
		...(isSeeded ? seededProblems : namedProblems)(fields, ''),
		...(isSeeded && hasValue(fields, 'visitor') ? ['visitor and seed must not both be given'] : []),
		...findHitProblems(hit),
		...(typeof url === 'string' && !isWebAddress(url)
			? ['url must be a web address such as https://shop.example/pricing']
			: []),
	];
}

function describe(isPast: boolean, others: readonly string[]): string {
	return describeProblems(isPast ? others : [`at must be ${timeRule}`, ...others]);
}

const isoTime = /^\d{4}-\d\d-(\d\d)T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/;

/** Milliseconds since 1970; null for invalid times, missing zones, and days that the month does not have. */
function timeOf(value: string): number | null {
	const [, day] = isoTime.exec(value) ?? [];
	const atMs = Date.parse(value);
	if (day === undefined || Number.isNaN(atMs) || atMs < 0) return null;
	if (day > '28' && new Date(`${value.slice(0, 10)}T00:00Z`).toISOString().slice(8, 10) !== day) return null;
	return atMs;
}
