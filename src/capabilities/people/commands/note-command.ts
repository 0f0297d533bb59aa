import { nounCommand } from '../../../kit/cli/act-command.ts';
import * as notes from '../acts/note-acts.ts';

export const noteCommand = nounCommand(
	'note',
	'notes on days, which charts over time show',
	`Manage notes on days, which charts over time show as marks. Caskade adds its own: for new models,
imports, changed rules of segments or channels, and new versions of the tag.`,
	notes,
);
