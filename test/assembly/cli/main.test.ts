import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { caskade, caskadeProcess, type Ended } from '../../process.ts';
import { takesLong } from '../../quick.ts';
import { temporaryFolder } from '../../support.ts';

const vid = '0123456789abcdef0123456789abcdef';

/** At least one line for every command but `serve`; none changes what another one prints. */
const lines: readonly (readonly string[])[] = [
	['plan', 'update', 'standard', '--burst', '2'],
	['plan', 'list', '--json'],
	['key', 'list'],
	['usage'],
	['goal', 'list', 'c-a-x', '--json'],
	['segment', 'test', 'c-a-x', 'returning'],
	['events', 'c-a-none'],
	['visitor', 'show', 'c-a-x', vid],
	['visitor', 'show', 'c-a-x', 'nonsense'],
	['backup', '.', '--json'],
	['copy', '--from', 'nowhere', '--to', 'nowhere'],
	['migrate'],
	['doctor', '--json'],
	['cask', '--help'],
	['nonsense'],
	[],
];

/** Its speed, and the room on the disk, are others every time. */
function comparable({ stdout, stderr, ...rest }: Ended): Ended {
	const figures = /, [\d,]+\/s$|[\d.]+ [GM]i?B/gm;
	return { ...rest, stdout: stdout.replaceAll(figures, ''), stderr: stderr.replaceAll(figures, '') };
}

test('a command in its own process prints and exits as it does in the test process', {
	skip: takesLong,
}, async (t) => {
	const at = ['--database', `sqlite:${join(temporaryFolder(t), 'data')}`];
	for (const args of [
		['account', 'create', 'c-a-x', '--client', 'x'],
		['plan', 'update', 'standard', '--burst', '2'],
		['key', 'issue', '--client', 'x'],
		['cask', 'issue', 'c-a-x', '--vid', vid],
	]) {
		const { code, stdout, stderr } = await caskadeProcess([...args, '--json', ...at]);
		assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
		assert.equal(typeof JSON.parse(stdout), 'object');
	}
	const whole = lines.map((args) =>
		args[0] && args[0] !== 'copy' && args[0] !== 'nonsense' ? [...args, ...at] : [...args],
	);
	const alone = await Promise.all(whole.map((line) => caskadeProcess(line)));
	for (const [place, line] of whole.entries())
		assert.deepEqual(comparable(alone[place] as Ended), comparable(await caskade(line)), line.join(' '));
});

test('npx caskade in the repository runs this program, with the pinned Node', {
	skip: takesLong,
}, async () => {
	const { stdout } = await promisify(execFile)('npx', ['--no-install', 'caskade', '--version'], {
		cwd: join(import.meta.dirname, '../../..'),
		env: { ...process.env, npm_config_offline: 'true' },
	});
	assert.match(
		stdout,
		/^\d+\.\d+\.\d+ \((commit [0-9a-f]{12}, )?schemas: control \d+( on SQLite, \d+ on PostgreSQL)?, accounts \d+( on SQLite, \d+ on PostgreSQL)?\)\n$/,
	);
});
