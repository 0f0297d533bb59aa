import { isoTime } from '../../../core/format/iso-time.ts';
import { actCommand } from '../../../kit/cli/act-command.ts';
import { command, group } from '../../../kit/cli/command.ts';
import { print } from '../../../kit/cli/output.ts';
import { addNote, removeNote } from '../acts.ts';

const list = command('list', 'list what is noted, the latest written first').onAccount(
	async (store, { aid, id }, options) => {
		const notes = (await store.control.notes.list(id)).map(({ createdAtMs, ...note }) => ({
			...note,
			createdAt: isoTime(createdAtMs),
		}));
		print(options, notes, `No notes. 'caskade note add ${aid} 2026-03-29 --text "…"' writes one.`);
	},
);

export const noteCommand = group(
	'note',
	'what happened on days, for pictures of time',
	`Manage notes on days, which pictures of time show as marks. The service writes some itself: when scores come from another
model, when history is imported, when rules of segments or channels are changed, and when there is a new version of the tag.`,
	[actCommand(addNote), list, actCommand(removeNote)],
);
