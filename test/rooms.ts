import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The rooms that files of `src/` are to move to: folders, and single files, of which the longest name counts. It goes with the move.
 */
const rooms: Readonly<Record<string, readonly string[]>> = JSON.parse(
	readFileSync(join(import.meta.dirname, 'rooms.json'), 'utf8'),
);

export const places = Object.entries(rooms)
	.flatMap(([room, names]) => names.map((name) => ({ room, name })))
	.sort((a, b) => b.name.length - a.name.length);

export function roomOf(file: string): string | undefined {
	return places.find(({ name }) => (name.endsWith('/') ? file.startsWith(name) : file === name))?.room;
}
