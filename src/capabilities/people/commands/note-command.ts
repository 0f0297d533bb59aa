import { nounCommand } from '../../../kit/cli/act-command.ts';
import * as notes from '../acts/note-acts.ts';

export const noteCommand = nounCommand(
	'note',
	'notes on days, which charts over time show',
	`Manage notes on days, which charts over time show as marks. The service writes some itself: when scores come from another
model, when history is imported, when rules of segments or channels are changed, and when there is a new version of the tag.`,
	notes,
);
