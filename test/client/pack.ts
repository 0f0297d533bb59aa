import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';

const root = join(import.meta.dirname, '../..');

/**
 * Packs the client like npm and installs it in a project. Builds in a copy, because other tests may pack it at the same time.
 * @returns the installed package's folder
 */
export function packInto(project: string): string {
	const copy = join(project, 'client');
	cpSync(join(root, 'client'), copy, { recursive: true, filter: (path) => !/\/client\/dist$/.test(path) });
	cpSync(join(root, 'LICENSE'), join(project, 'LICENSE'));
	const packed = execFileSync('npm', ['pack', '--json', '--pack-destination', project], {
		cwd: copy,
		encoding: 'utf8',
		env: { ...process.env, PATH: [join(root, 'node_modules/.bin'), process.env.PATH].join(delimiter) },
		stdio: ['ignore', 'pipe', 'pipe'],
	});
	const [{ filename }] = JSON.parse(packed.slice(packed.indexOf('[')));
	const installed = join(project, 'node_modules/caskade-client');
	mkdirSync(installed, { recursive: true });
	execFileSync('tar', ['-xzf', join(project, filename), '-C', installed, '--strip-components=1']);
	return installed;
}
