import { execFileSync } from 'node:child_process';
import { existsSync, globSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
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

/** Links of a package's pages to what it does not have. */
export function lostLinks(folder: string): string[] {
	return globSync('**/*.md', { cwd: folder, exclude: ['node_modules'] }).flatMap((page) => {
		const text = readFileSync(join(folder, page), 'utf8');
		const hrefs = [...text.matchAll(/\]\((?!https?:|mailto:|#)([^)\s#]+)/g)].map(([, href = '']) => href);
		const isLost = (href: string) => {
			const target = join(folder, dirname(page), href);
			return !target.startsWith(folder) || !existsSync(target);
		};
		return hrefs.filter(isLost).map((href) => `${page}: ${href}`);
	});
}

/** Imports of declarations that name sources, which are not in the package. */
export function importedSources(folder: string): string[] {
	return globSync('**/*.d.ts', { cwd: folder }).filter((file) =>
		/['"]\.[^'"]*(?<!\.d)\.ts['"]/.test(readFileSync(join(folder, file), 'utf8')),
	);
}

/** Optional properties that may be left out, but not be undefined, which projects with `exactOptionalPropertyTypes` are told. */
export function exactProperties(folder: string): string[] {
	return globSync('**/*.d.ts', { cwd: folder }).flatMap((file) =>
		[...readFileSync(join(folder, file), 'utf8').matchAll(/^\s*readonly \w+\?: .*;$/gm)]
			.filter(([line]) => !line.endsWith('undefined;') && !line.endsWith('unknown;'))
			.map(([line]) => `${file}: ${line.trim()}`),
	);
}
