import { OperatorError } from '../../errors.ts';
import { type Html, html } from '../../format/html.ts';
import { day, displayName } from '../../format/values.ts';
import { redirect } from '../exchange.ts';
import { fieldOf } from '../form.ts';
import { type AskedOfAccount, accountPage } from '../page.ts';
import { nameOf, pageTable } from '../page-table.ts';
import { formOf } from './account.ts';

/** Bounds the elements of the page. */
const maxShown = 200;

/** What pictures of time tell of days: written by people and by the service itself, and removed again. */
export const notesPage = accountPage({
	path: ':aid/notes',
	title: 'Notes on days',
	right: 'visitors',
	async get(asked) {
		const { store, account, calendar } = asked;
		const notes = (await store.control.notes.list(account.id))
			.map((note) => ({ ...note, day: note.day ?? calendar.dayOf(note.createdAtMs) }))
			.sort((a, b) => (a.day < b.day ? 1 : a.day > b.day ? -1 : 0));
		const shown = notes.slice(0, maxShown);
		return html`<p>Pictures of time show notes as marks, and list them beneath. The service writes some itself: when scores come from another model, when history is imported, when rules of segments or channels are changed, and when there is a new version of the tag. Experiments are shown as well.</p>
${addNote(asked)}
${
	notes.length === 0
		? html`<p class="empty">No notes yet. Write the first one above.</p>`
		: pageTable(
				'Notes',
				['Day', 'Note…', 'By', 'Remove'],
				shown.map(({ id, day, text, who }) => [
					day,
					nameOf(text),
					who ?? 'itself',
					formOf(
						asked,
						'remove note',
						html`<input type="hidden" name="id" value="${id}">`,
						'Remove',
						'danger',
					),
				]),
			)
}
${shown.length < notes.length && html`<p class="note">These are the latest ${shown.length} of ${notes.length}.</p>`}
<p class="note">Days are in ${calendar.timezone}. Who writes and removes notes is in the audit log.</p>`;
	},
	async post({ form, store, account, person, note, request }) {
		if (form.get('action') === 'remove note') {
			const id = form.get('id') ?? '';
			await store.control.notes.remove(account.id, id);
			await note('note removed', id);
			return redirect(request.path);
		}
		if (form.get('action') !== 'add note')
			throw new OperatorError('The form names nothing that this page can do.');
		const at = fieldOf(form, 'day', 'Day', day);
		const text = fieldOf(form, 'text', 'Note', displayName);
		await store.control.notes.add(account.id, text, { day: at, who: person.email });
		await note('note added', at);
		const back = form.get('back');
		return redirect(back === null ? request.path : `/console/${account.aid}/?${new URLSearchParams(back)}`);
	},
});

/** A form for a note. From another page than that of notes, it leads back to the overview. */
export function addNote(asked: AskedOfAccount): Html {
	const { request, account, calendar, now } = asked;
	const path = `/console/${account.aid}/notes`;
	const isHere = request.path === path;
	const fields = html`<p><label>Day <input type="date" name="day" value="${calendar.dayOf(now())}" required></label>
<label>Note <input name="text" maxlength="100" size="40" required></label></p>
${!isHere && html`<input type="hidden" name="back" value="${request.query}">`}`;
	return html`<details class="section"${isHere && html` open`}><summary>Note something on a day</summary>
${formOf({ ...asked, request: { ...request, path } }, 'add note', fields, 'Add')}
${!isHere && html`<p><a href="${path}">All notes</a></p>`}</details>`;
}
