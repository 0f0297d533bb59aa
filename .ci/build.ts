/**
 * `npm run build` makes the package `caskade` of what is in this folder: the service and its commands as plain JavaScript, which Node
 * runs below `node_modules`, where it strips no types. `npm pack dist/caskade` makes one file of it.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { dirname, join } from 'node:path';

const project = join(import.meta.dirname, '..');
/** What is shipped with the program, besides its code. */
const files = ['CHANGELOG.md', 'LICENSE', 'README.md', 'docs', 'migrations', 'demo'];

/**
 * A module without its types. They become spaces, as Node makes them when it runs the sources, and `.ts` in the name of another
 * module becomes `.js`, which is as long: so a trace names the line and column of the source, and needs no source map.
 */
export function plainModule(source: string): string {
	return stripTypeScriptTypes(source).replaceAll(/(?<=(['"`])\.{1,2}\/[\w./${}-]+)\.ts(?=\1)/g, '.js');
}

/**
 * Makes the package in a folder, which is emptied first.
 * @returns the folder
 */
export function build(folder = join(project, 'dist/caskade')): string {
	rmSync(folder, { recursive: true, force: true });
	const write = (path: string, text: string) => {
		mkdirSync(dirname(join(folder, path)), { recursive: true });
		writeFileSync(join(folder, path), text);
	};
	for (const path of globSync(['src/**/*.ts', 'client/src/*.ts'], { cwd: project })) {
		// The link to main.js, and what makes the tag.
		if (path === 'src/main.ts' || path.startsWith('src/core/collect/tag/') || path.endsWith('build-tag.ts'))
			continue;
		write(path.replace(/\.ts$/, '.js'), plainModule(readFileSync(join(project, path), 'utf8')));
	}
	for (const path of globSync('src/**/*.{js,css}', { cwd: project }))
		write(
			path,
			readFileSync(join(project, path), 'utf8').replaceAll(
				"'./assembly/cli/caskade.ts'",
				"'./assembly/cli/caskade.js'",
			),
		);
	for (const path of files)
		cpSync(join(project, path), join(folder, path), {
			recursive: true,
			filter: (source) => !/\.ts$|\.png$/.test(source) || source.endsWith('docs/demo.png'),
		});
	const { name, version, description, license, type, dependencies } = JSON.parse(
		readFileSync(join(project, 'package.json'), 'utf8'),
	);
	write(
		'package.json',
		`${JSON.stringify({ name, version, description, license, type, engines: { node: '>=26' }, bin: { caskade: 'src/main.js' }, dependencies }, null, '\t')}\n`,
	);
	write('COMMIT', execFileSync('git', ['rev-parse', 'HEAD'], { cwd: project, encoding: 'utf8' }));
	return folder;
}

if (import.meta.main) console.log(build());
