import { isoTime } from '../../../core/format/iso-time.ts';
import { act } from '../../../kit/act.ts';
import { day, displayName } from '../../../kit/format/values.ts';
import { listing } from '../../../kit/listing.ts';

export const addNote = act({
	noun: 'note',
	verb: 'add',
	demand: 'session',
	done: 'note added',
	summary: 'add a note to a day, which charts over time show',
	right: 'visitors',
	takes: {
		day: { flag: '<day>', text: 'the day, such as 2026-03-29', parse: day, label: 'Day' },
		text: { flag: '--text <text>', text: 'what happened', parse: displayName, label: 'Note' },
	},
	async run(control, { account, who = '' }, { day, text }) {
		await control.notes.add(account.id, text, { day, who });
		return { day, text };
	},
	line: ({ day }) => `It is noted on ${day}.`,
});

export const removeNote = act({
	noun: 'note',
	verb: 'remove',
	demand: 'session',
	done: 'note removed',
	summary: 'remove a note',
	right: 'visitors',
	takes: { note: { flag: '<id>', text: "the note, as 'caskade note list' shows it" } },
	async run(control, { account }, { note }) {
		await control.notes.remove(account.id, note);
		return { removed: note };
	},
	line: ({ note }) => `The note ${note} is removed.`,
});

export const notedList = listing({
	noun: 'note',
	summary: 'list notes, the latest written first',
	empty: ({ aid }) => `No notes. 'caskade note add ${aid} 2026-03-29 --text "…"' writes one.`,
	read: async ({ control }, { id }) =>
		(await control.notes.list(id)).map(({ createdAtMs, ...note }) => ({
			...note,
			createdAt: isoTime(createdAtMs),
		})),
});
