/**
 * Runs in a process of its own: executes commands from standard input, one per line, on the database in its argument.
 */
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { checkpoint, emptyLog } from '../../../../src/core/store/sqlite/engine/checkpoint.ts';
import { openDatabase } from '../../../../src/core/store/sqlite/engine/sqlite-connection.ts';

const eventsEach = 100;

const path = process.argv[2] as string;
const database = openDatabase(path, { busyTimeoutMs: 0, create: true });
emptyLog(database);
const reader = new DatabaseSync(path);

const commands: Record<string, (argument: string) => void> = {
	// Many, so that they fill pages that later ones do not touch.
	store: (name) => {
		const insert = database.prepare(
			"INSERT INTO subscription_event (tid, subid, evt, rvn, received_at) VALUES (?, ?, 'e', 0, 0)",
		);
		database.exec('BEGIN');
		for (let number = 0; number < eventsEach; number++) insert.run(`${name}-${number}`, 's'.repeat(200));
		database.exec('COMMIT');
	},
	checkpoint: () => void checkpoint(database, 'PASSIVE'),
	read: () => reader.exec('BEGIN; SELECT count(*) FROM subscription_event'),
	stop: () => reader.exec('COMMIT'),
};

let number = 0;
for await (const line of createInterface({ input: process.stdin })) {
	const [name = '', argument = ''] = line.split(' ');
	let outcome = 'done';
	try {
		commands[name]?.(argument);
	} catch (error) {
		outcome = (error as Error).message;
	}
	process.stdout.write(`${++number} ${outcome}\n`);
}
