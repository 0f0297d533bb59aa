import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { buildClient } from '../../.ci/build.ts';

/**
 * Packs the client like npm and installs it in a project.
 * @returns the installed package's folder
 */
export async function packInto(project: string): Promise<string> {
	const built = await buildClient(join(project, 'built'));
	const packed = execFileSync('npm', ['pack', '--json', '--pack-destination', project, built], {
		encoding: 'utf8',
		stdio: ['ignore', 'pipe', 'pipe'],
	});
	const [{ filename }] = JSON.parse(packed);
	const installed = join(project, 'node_modules/caskade-client');
	mkdirSync(installed, { recursive: true });
	execFileSync('tar', ['-xzf', join(project, filename), '-C', installed, '--strip-components=1']);
	return installed;
}
