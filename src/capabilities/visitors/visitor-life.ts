import { paymentSitesOf, type Touch } from '../../core/domain/touch.ts';
import { OperatorError } from '../../core/errors.ts';
import { isoTime } from '../../core/format/iso-time.ts';
import type { Account } from '../../core/store/control/control-store.ts';
import type { PageReads } from '../../core/store/serving.ts';
import type { Store } from '../../core/store/store.ts';
import { eventsWith } from '../../kit/reading/event-finding.ts';
import { gatewaysOf } from '../../kit/reading/gateways.ts';
import { visitorsWith } from '../../kit/reading/visitor-finding.ts';
import { type VisitorRecord, visitorRecord } from '../../kit/reading/visitor-record.ts';
import { type CoursedJourney, readCoursesWith } from '../../kit/reports/courses.ts';
import { readTouches } from '../../kit/reports/read-journeys.ts';
import { customersShownBy } from './store/take-apart.ts';
import { type TimelineEntry, timelineOf } from './timeline.ts';
import { type VisitorChanges, visitorChanges } from './visitor-changes.ts';

/** What is stored about a visitor, and what has become of the subscriptions. */
export interface VisitorLife {
	readonly record: VisitorRecord;
	/** All that the visitor has events of, by their first event. */
	readonly journeys: readonly CoursedJourney[];
	readonly timeline: readonly TimelineEntry[];
	/** Whether it is a mail gateway, as far as is known. Figures about many visitors leave it out then. */
	readonly isGateway: boolean;
	/** Undefined where the account is disabled: then nobody is scored. */
	readonly changes: VisitorChanges | undefined;
}

type Reader = Store & PageReads;
type LivedAccount = Pick<
	Account,
	'id' | 'aid' | 'paymentProviders' | 'renewalDays' | 'graceDays' | 'cancellationEvt'
>;

/**
 * Everything stored about a visitor, for a request for access.
 * @throws OperatorError where the visitor is not known, or has shown several customers, of whom none may get what is the others'
 */
export async function exportedVisitor(store: Reader, account: Pick<LivedAccount, 'id' | 'aid'>, vid: string) {
	const customers = await store.read(account.id, customersShownBy(vid));
	if (customers.length > 1)
		throw new OperatorError(
			`Visitor ${vid} has shown ${customers.length} customers, so its data is not of one person. 'caskade visitor rebuild ${account.aid}' takes it apart.`,
		);
	const record = await knownVisitor(store, account, vid);
	return { aid: account.aid, exportedAt: isoTime(store.now()), ...record };
}

/**
 * Everything stored about a customer: of the visitors, and of subscription events that belong to no visitor, too.
 * @throws OperatorError where nothing is stored, or one of the visitors has shown other customers
 */
export async function exportedCustomer(
	store: Reader,
	account: Pick<LivedAccount, 'id' | 'aid'>,
	cid: string,
) {
	const { aid, id } = account;
	const key = { kind: 'cid', value: cid } as const;
	const found = await store.read(id, visitorsWith(key));
	const events = await store.read(id, eventsWith(key, Number.MAX_SAFE_INTEGER));
	if (found.length + events.length === 0) throw new OperatorError(`Account ${aid} has no such customer.`);
	const visitors = [];
	for (const { vid } of found) {
		const { aid: _, exportedAt: __, ...record } = await exportedVisitor(store, account, vid);
		visitors.push(record);
	}
	const subscriptionEvents = events.map(({ tid, subid, evt, rvn, receivedAt }) => ({
		tid,
		subid,
		evt,
		rvn,
		cid,
		receivedAt,
	}));
	return { aid, cid, exportedAt: isoTime(store.now()), visitors, subscriptionEvents };
}

async function knownVisitor(
	store: Reader,
	{ id, aid }: Pick<LivedAccount, 'id' | 'aid'>,
	vid: string,
	maxHits?: number,
): Promise<VisitorRecord> {
	const record = await store.read(id, visitorRecord(vid, maxHits));
	if (!record) throw new OperatorError(`Account ${aid} has no visitor ${vid}.`);
	return record;
}

/**
 * Reads a visitor's life up to now.
 * @param maxHits how many hits and visits, the latest of all
 * @throws OperatorError where the visitor is not known
 */
export async function visitorLife(
	store: Reader,
	account: LivedAccount,
	vid: string,
	maxHits?: number,
): Promise<VisitorLife> {
	const record = await knownVisitor(store, account, vid, maxHits);
	const subids = [...new Set(record.subscriptionEvents.map(({ subid }) => subid))];
	const journeys = await store.read(account.id, readCoursesWith(subids, store.now(), account));
	const isGateway = await isMailGateway(store, account, record);
	return { record, journeys, isGateway, ...(await timelineAbout(store, account, { record, journeys })) };
}

async function isMailGateway(
	store: Reader,
	account: LivedAccount,
	{ vid, profile }: VisitorRecord,
): Promise<boolean> {
	if (profile?.hits !== 1) return false;
	const { firstAtMs: fromMs } = profile;
	const period = { fromMs, toMs: fromMs + 1 };
	return (await gatewaysOf(store, account, { asOfMs: store.now(), period })).has(vid);
}

/** What happened to a visitor, if there is one, and to some subscriptions. @param asOfMs now, if it is missing */
export async function timelineAbout(
	store: Reader,
	account: LivedAccount,
	{ record, journeys }: { record: VisitorRecord | null; journeys: readonly CoursedJourney[] },
	asOfMs = store.now(),
): Promise<Pick<VisitorLife, 'timeline' | 'changes'>> {
	const touches = record ? await arrivalsOf(store, account, record.vid, asOfMs) : [];
	const known = (await store.control.accessSnapshot()).accounts.get(account.aid);
	const changes = record && known ? await visitorChanges(store, known, record.vid, asOfMs) : undefined;
	return { timeline: timelineOf({ record, touches, journeys, changes, asOfMs }), changes };
}

/** All touches of a visitor up to a moment, by time. */
export function arrivalsOf(
	store: Reader,
	account: LivedAccount,
	vid: string,
	asOfMs: number,
): Promise<readonly Touch[]> {
	return store.read(account.id, readTouches(vid, { asOfMs, paymentProviders: paymentSitesOf(account) }));
}

/** What of a visitor's life commands and pages show: all but hits. */
export function shownLife(aid: string, { record, timeline, isGateway }: VisitorLife) {
	const { vid, profile, subscriptionEvents, identityLinks, memberships } = record;
	const visits = record.visits.map(({ sid, profile: visit }) => ({
		sid,
		startedAt: isoTime(visit.firstAtMs),
		lastHitAt: isoTime(visit.lastAtMs),
		hits: visit.hits,
		channel: visit.lastChannel,
		landingPage: visit.landingPage,
	}));
	return {
		aid,
		vid,
		...(isGateway && { isGateway }),
		profile,
		subscriptionEvents,
		identityLinks,
		memberships,
		visits,
		timeline,
	};
}
