import type { ControlStore } from '../../core/store/control/control-store.ts';
import { type Html, type HtmlValue, html } from '../format/html.ts';
import { addDays, type Calendar, type SpanLength } from './calendar.ts';

/** What happened on a day, as pictures of time show it. */
export interface DayNote {
	/** Such as 2026-03-29. */
	readonly day: string;
	readonly text: string;
}

/** As many are listed beneath a picture, the latest. */
const maxListed = 12;

/** What happened to an account, by day: what people and the service itself have noted, and what capabilities add. */
export async function dayNotes(
	control: Pick<ControlStore, 'notes' | 'moments'>,
	accountId: number,
	calendar: Pick<Calendar, 'dayOf'>,
): Promise<DayNote[]> {
	const [notes, moments] = await Promise.all([control.notes.list(accountId), control.moments(accountId)]);
	return [
		...notes.map(({ day, text, createdAtMs }) => ({ day: day ?? calendar.dayOf(createdAtMs), text })),
		...moments.map(({ atMs, text }) => ({ day: calendar.dayOf(atMs), text })),
	].sort((a, b) => (a.day < b.day ? -1 : a.day > b.day ? 1 : 0));
}

/**
 * Notes by the place of a picture that their day is in, without those of other times.
 * @param places names of days, weeks or months, in order
 */
export function notesByPlace(
	notes: readonly DayNote[],
	places: readonly string[],
	every: SpanLength,
): Map<string, readonly DayNote[]> {
	const last = places.at(-1);
	if (last === undefined) return new Map();
	// No month has 32 days.
	const end = every === 'month' ? `${last}-32` : addDays(last, every === 'week' ? 7 : 1);
	const found = Map.groupBy(
		notes.filter(({ day }) => day < end),
		({ day }) => places.findLast((place) => place <= day) ?? '',
	);
	found.delete('');
	return found;
}

/** The notes that are marked in pictures of a period, for whoever cannot point at the marks. */
export function notesUnder(
	pictures: HtmlValue,
	notes: readonly DayNote[],
	{ from, to }: { readonly from: string | null; readonly to: string | null },
): Html | null {
	if (!String(html`${pictures}`).includes('class="noted"')) return null;
	return noteList(notes.filter(({ day }) => (from === null || day >= from) && (to === null || day < to)));
}

export function noteList(notes: readonly DayNote[]): Html | null {
	if (notes.length === 0) return null;
	const listed = notes.slice(-maxListed);
	return html`<details><summary>${notes.length === 1 ? 'One note' : `${notes.length} notes`}</summary><ul>${listed.map(
		({ day, text }) => html`<li>${day}: <bdi>${text}</bdi></li>
`,
	)}</ul>${listed.length < notes.length && html`<p>These are the latest ${listed.length}.</p>`}</details>`;
}
