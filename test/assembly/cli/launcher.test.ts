import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { temporaryFolder } from '../../support.ts';

const root = join(import.meta.dirname, '../../..');
const launcher = join(root, 'bin/caskade');
/** Of `nobody`, who owns nothing and has no home. */
const stranger = { uid: 65_534, gid: 65_534 };

test('the launcher runs from any folder, and by a link, with the Node of the project', async (t) => {
	const link = join(temporaryFolder(t), 'caskade');
	symlinkSync(launcher, link);
	const run = promisify(execFile);
	for (const path of [launcher, link])
		assert.match(
			(await run(path, ['--version'], { cwd: '/', env: { PATH: '/usr/bin:/bin' } })).stdout,
			/^\d+\.\d+\.\d+ /,
		);
});

test("the nightly backup's line of the crontab runs as a user who does not own the program", {
	skip: whyNotAsStranger(),
}, async (t) => {
	const folder = temporaryFolder(t);
	chmodSync(folder, 0o755);
	chownSync(folder, stranger.uid, stranger.gid);
	const page = readFileSync(join(root, 'docs/how-to/operating.md'), 'utf8');
	symlinkSync(launcher, join(folder, 'caskade'));
	const PATH = /^PATH=(.+)$/m.exec(page)?.[1]?.replace('/usr/local/bin', folder);
	const asStranger = (line: string) => {
		const { status, stdout, stderr } = spawnSync('/bin/sh', ['-c', line], {
			...stranger,
			cwd: '/',
			env: { PATH, HOME: '/nonexistent' },
			encoding: 'utf8',
		});
		assert.equal(status, 0, stderr);
		return stdout;
	};
	const here = (line: string) =>
		line.replaceAll('/var/lib/caskade', join(folder, 'data')).replaceAll('/var/backups/caskade', folder);
	asStranger(here('CASKADE_DATABASE=sqlite:/var/lib/caskade caskade account create c-a-x --client x'));
	const [, line = ''] = /^0 3 \* \* \* (.+)$/m.exec(page) ?? [];
	// As cron does: a bare % would end the line.
	assert.match(asStranger(here(line).replaceAll('\\%', '%')), /^Backup complete in .+\/\d{4}-\d\d-\d\d\.$/m);
});

function whyNotAsStranger(): string | false {
	if (process.getuid?.() !== 0) return 'only root may run a command as another user';
	const { status } = spawnSync('/bin/sh', ['-c', `test -r ${root}/src/main.js`], stranger);
	return status === 0 && existsSync(launcher) ? false : 'another user may not read this folder';
}
