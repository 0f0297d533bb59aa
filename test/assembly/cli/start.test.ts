import { mkdirSync, truncateSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { openStore } from '../../../src/assembly/open-store.ts';
import { damageTable } from '../../core/store/damage.ts';
import { assertRefused, caskadeWithin, type Ended, mainPath, TestProcess } from '../../process.ts';
import { takesLong } from '../../quick.ts';
import { noSmallDisk, SmallDisk } from '../../small-disk.ts';
import { addClient, temporaryFolder } from '../../support.ts';

/** How a command ends that cannot do its work. */
async function ends(...args: string[]): Promise<Ended> {
	await using command = new TestProcess(process.execPath, [mainPath, ...args]);
	return await command.endsWithin(5000);
}

function serve(address: string, ...args: string[]): Promise<Ended> {
	return ends('serve', '--port', '0', '--database', address, ...args);
}

/** A data folder that has been served from. */
async function usedFolder(folder: string): Promise<string> {
	const store = await openStore(`sqlite:${folder}`);
	await addClient(store);
	await store.close();
	return join(folder, 'control.sqlite');
}

/** What may have happened to a control database, by what a server says of it. */
const damages: readonly (readonly [what: RegExp, (path: string) => void])[] = [
	[/control\.sqlite is damaged; restore a backup/, (path) => truncateSync(path, 5000)],
	[/control\.sqlite is damaged; restore a backup/, (path) => writeFileSync(path, 'x'.repeat(9000))],
	[/control\.sqlite is damaged, in its table usage; restore/, (path) => damageTable(path, 'usage')],
	[/control\.sqlite is damaged, in its table goal; restore/, (path) => damageTable(path, 'goal')],
	[/control\.sqlite cannot be written/, (path) => mkdirSync(`${path}-shm`)],
	[/control\.sqlite cannot be used/, (path) => mkdirSync(`${path}-wal`)],
];

test('a server whose control database is damaged exits with one sentence, wherever the damage is', async (t) => {
	for (const [sentence, damage] of damages) {
		const folder = temporaryFolder(t);
		damage(await usedFolder(folder));
		const address = `sqlite:${folder}`;
		assertRefused(await caskadeWithin(['serve', '--port', '0', '--database', address]), sentence);
		if (damage === damages.at(-1)?.[1]) assertRefused(await serve(address), sentence);
	}
});

test('neither a server nor a command starts on a full disk, and each says so', {
	skip: noSmallDisk(),
}, async () => {
	using disk = new SmallDisk();
	const folder = join(disk.path, 'data');
	await usedFolder(folder);
	disk.fill();
	for (const args of [
		['serve', '--port', '0'],
		['serve', '--port', '0', '--demo'],
		['key', 'list'],
	])
		assertRefused(await caskadeWithin([...args, '--database', `sqlite:${folder}`]), /The disk .*is full/);
	assertRefused(await serve(`sqlite:${join(disk.path, 'new')}`), /The disk .*is full/);
});

/** A server that takes connections and says nothing, as one that is frozen does. */
async function silentServer(t: TestContext): Promise<string> {
	const server = createServer(() => {}).listen(0, '127.0.0.1');
	await new Promise((resolve) => server.once('listening', resolve));
	t.after(() => server.close());
	return `postgres://caskade:secret@127.0.0.1:${(server.address() as { port: number }).port}/caskade`;
}

test('servers, workers and commands give up on a PostgreSQL server that never answers', {
	skip: takesLong,
}, async (t) => {
	const address = await silentServer(t);
	const outcomes = await Promise.all([
		serve(address),
		serve(address, '--workers', '2'),
		ends('key', 'list', '--database', address),
	]);
	for (const ended of outcomes) assertRefused(ended, /No PostgreSQL server answers at 127\.0\.0\.1:\d+/);
});
