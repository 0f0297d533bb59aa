import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Profile } from '../../src/domain/profile.ts';

/** Stores visitors in the first account of a data folder. */
export function storeVisitors(folder: string, profiles: readonly (Profile | null)[]): void {
	const database = new DatabaseSync(join(folder, 'accounts', '1.sqlite'));
	const insert = database.prepare('INSERT INTO visitor (vid, profile) VALUES (?, ?)');
	database.exec('BEGIN');
	for (const [index, profile] of profiles.entries())
		insert.run(index.toString(16).padStart(32, '0'), JSON.stringify(profile));
	database.exec('COMMIT');
	database.close();
}
