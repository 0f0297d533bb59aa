import { actGiven, acting } from '../../../kit/console/act-form.ts';
import { redirect } from '../../../kit/console/exchange.ts';
import { formOf, hiddenFields } from '../../../kit/console/form.ts';
import { noteForm } from '../../../kit/console/note-form.ts';
import { type AccountRequest, accountPage } from '../../../kit/console/page.ts';
import { nameOf, sortedTable } from '../../../kit/console/page-table.ts';
import { html } from '../../../kit/format/html.ts';
import { addNote, removeNote } from '../acts/note-acts.ts';

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
		const table = sortedTable(asked, 'Notes', notes, {
			Day: ({ day }) => day,
			'Note…': ({ text }) => nameOf(text),
			By: ({ who }) => who ?? 'Caskade',
			Remove: ({ id }) => formOf(asked, 'remove note', hiddenFields({ id }), 'Remove', { look: 'danger' }),
		});
		return html`<p>Charts mark days with notes, and list the notes beneath. Caskade adds its own: for new models, imports, changed rules of segments or channels, and new versions of the tag. Experiments are shown as well.</p>
${noteForm(asked)}
${notes.length === 0 ? html`<p class="empty">No notes yet. Write the first one above.</p>` : table}
<p class="note">Days are in ${calendar.timezone}. The audit log records who adds and removes notes.</p>`;
	},
	actions: {
		'remove note': acting(
			removeNote,
			async ({ act, form }: AccountRequest) => void (await act(removeNote, { note: form.get('id') ?? '' })),
		),
		'add note': acting(addNote, async ({ act, form, account, request }: AccountRequest) => {
			await act(addNote, actGiven(addNote.takes, form));
			const back = form.get('back');
			return redirect(back === null ? request.path : `/console/${account.aid}/?${new URLSearchParams(back)}`);
		}),
	},
});
