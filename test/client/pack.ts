import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

const clientFolder = join(import.meta.dirname, '../../client');

/** Packs the client as npm does, and installs it in a project. @returns where it is */
export function packInto(project: string): string {
	const packed = execFileSync('npm', ['pack', '--json', '--pack-destination', project], {
		cwd: clientFolder,
		encoding: 'utf8',
		stdio: ['ignore', 'pipe', 'pipe'],
	});
	const [{ filename }] = JSON.parse(packed.slice(packed.indexOf('[')));
	const installed = join(project, 'node_modules/caskade-client');
	mkdirSync(installed, { recursive: true });
	execFileSync('tar', ['-xzf', join(project, filename), '-C', installed, '--strip-components=1']);
	return installed;
}
