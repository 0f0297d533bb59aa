import { dayMs } from '../../../core/durations.ts';
import { formatShare } from '../../../core/format/numbers.ts';
import { compileRule } from '../../../core/segments/rule.ts';
import { RuleError } from '../../../core/segments/rule-error.ts';
import { isUsable } from '../../../core/store/control/control-store.ts';
import type { AccountRequest } from '../../../kit/console/page.ts';
import { nameOf } from '../../../kit/console/page-table.ts';
import { type Html, type HtmlValue, html } from '../../../kit/format/html.ts';
import { may, type Right } from '../../../kit/person.ts';
import { latestEvents } from '../../../kit/reading/event-finding.ts';
import { hitsBefore } from '../../../kit/reading/histories.ts';
import type { Report } from '../../../kit/reports/report.ts';

/** So long without a hit, and pages have probably lost the tag. */
const quietHitsMs = dayMs;
/** Uploads may come in batches. */
const quietUploadsMs = 7 * dayMs;
/** Keys that expire are told of so long before. */
const keyNoticeMs = 14 * dayMs;
const oldBackupMs = 7 * dayMs;
/** A smaller share of events without a visitor is usual: people block tags, and buy by telephone. */
const usualUnjoined = 0.3;
/** Fewer events say nothing about a share. */
const leastEvents = 20;

/** What somebody should look at, each with what to do. @param coverage how events of the period were joined; missing where it is not known yet */
export async function attention(asked: AccountRequest, coverage: Report | undefined): Promise<Html | null> {
	const { account, directory } = asked;
	const { aid, models, goals } = account;
	const items: HtmlValue[] = [
		...(await asked.attention(asked)),
		...(await ofData(asked)),
		...(await ofOperation(asked)),
	];
	const page = (path: string, right: Right, text: string) =>
		may(asked.person, aid, right) ? html`<a href="/console/${aid}/${path}">${text}</a>` : text;
	for (const goal of new Set(models.filter(({ isOutside }) => isOutside).map((model) => model.goal)))
		items.push(
			html`Scores for ${goal} predict a different rate from the one observed lately. Train the model again: ${page(`scores?goal=${encodeURIComponent(goal)}`, 'aggregates', 'Scores')}, or <code>caskade train ${aid}</code>.`,
		);
	if (models.length === 0 && goals.length > 0)
		items.push(
			html`No model is trained, so everybody gets the same score, the base rate. Train one: ${page('scores', 'aggregates', 'Scores')}, or <code>caskade train ${aid}</code>.`,
		);
	for (const id of invalidSegments(asked))
		items.push(
			html`The rule of the segment ${nameOf(id)} is not valid any more, so nobody is in it: ${page(`segments?segment=${encodeURIComponent(id)}`, 'visitors', 'change it')}.`,
		);
	if (directory.signingKeys.length === 0)
		items.push('There is no key to sign casks with. A server makes one when it starts.');
	const { events = 0, unjoined = 0 } = (coverage?.rows[0] ?? {}) as { events?: number; unjoined?: number };
	if (events >= leastEvents && unjoined / events > usualUnjoined)
		items.push(
			html`${formatShare(unjoined / events)} of the period's events could not be matched to a visitor, and count as (none) in attribution. Pages must pass the transaction or customer id of a sale to the tag: <code>vscr('addEvent', 'order', { tid: '…' })</code>. ${page('attribution', 'aggregates', 'By month and event type')}.`,
		);
	if (items.length === 0) return null;
	return html`<section class="warning" aria-label="Needs attention"><ul>${items.map(
		(item) => html`<li>${item}</li>
`,
	)}</ul></section>`;
}

/** Whether hits and uploads come. */
async function ofData({ store, account, now, calendar }: AccountRequest): Promise<HtmlValue[]> {
	const items: HtmlValue[] = [];
	const [[lastHit], [lastEvent]] = await Promise.all([
		store.read(account.id, hitsBefore(now(), 1)),
		store.read(account.id, latestEvents(now(), 1)),
	]);
	// Of an account without any, the first steps tell.
	if (lastHit && now() - lastHit.atMs > quietHitsMs)
		items.push(html`The last hit came on ${calendar.timeOf(lastHit.atMs)}. Is the tag still on the pages?`);
	if (lastEvent && now() - lastEvent.receivedAtMs > quietUploadsMs)
		items.push(
			html`The last subscription event came on ${calendar.timeOf(lastEvent.receivedAtMs)}. Does the back end still upload?`,
		);
	return items;
}

/** What concerns those who run it. */
async function ofOperation({ store, account, now, person }: AccountRequest): Promise<HtmlValue[]> {
	const items: HtmlValue[] = [];
	if (may(person, account.aid, 'operate')) {
		const keys = (await store.control.keys(account.client)).filter((key) => isUsable(key, now()));
		const settings = html`<a href="/console/${account.aid}/settings?part=keys">Settings</a>`;
		if (keys.length === 0)
			items.push(
				html`No API key is usable, so nobody can upload. Issue one: ${settings}, or <code>caskade key issue --client ${account.client}</code>.`,
			);
		for (const { id, name, expiresAt } of keys)
			if (expiresAt !== null && Date.parse(expiresAt) - now() < keyNoticeMs)
				items.push(
					html`The key <code>${id}</code>${name !== null && html` ${nameOf(name)}`} expires on ${expiresAt.slice(0, 10)}. Issue another: ${settings}.`,
				);
	}
	const { lastBackupAt } = await store.status();
	if (
		may(person, null, 'administer') &&
		lastBackupAt !== undefined &&
		now() - Date.parse(lastBackupAt) > oldBackupMs
	)
		items.push(html`The last backup is more than a week old: <code>caskade backup FOLDER</code>.`);
	return items;
}

function invalidSegments({ account }: AccountRequest): string[] {
	const goals = account.goals.map(({ name }) => name);
	return account.segments
		.filter(({ rule }) => {
			try {
				compileRule(rule, goals);
				return false;
			} catch (error) {
				if (error instanceof RuleError) return true;
				throw error;
			}
		})
		.map(({ id }) => id);
}
