/**
 * `npm run build` makes the packages of what is in this folder, each a folder of `dist/` and a file that npm installs:
 *
 * - `caskade`, the service and its commands;
 * - `caskade-client`, the library that uploads, and the command that uploads files;
 * - `caskade-tag`, the tag as a module of pages that are built.
 *
 * Their modules are plain JavaScript, because Node strips no types below `node_modules`.
 */
import { execFileSync } from 'node:child_process';
import {
	chmodSync,
	cpSync,
	existsSync,
	globSync,
	mkdirSync,
	readFileSync,
	rmSync,
	writeFileSync,
} from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { dirname, join, posix } from 'node:path';
import { build as bundle } from 'esbuild';

const project = join(import.meta.dirname, '..');
/** What is shipped with the service, besides its code. */
const files = [
	...['CHANGELOG.md', 'LICENSE', 'README.md', 'SECURITY.md', 'docs', 'migrations', 'demo'],
	...['deploy/prometheus', 'deploy/systemd'],
	// Pages of the documentation, too.
	...['client/README.md', 'client/tag/README.md'],
];
const { version, description, license, type, dependencies } = readJson('package.json');

function readJson(path: string) {
	return JSON.parse(readFileSync(join(project, path), 'utf8'));
}

/**
 * A module without its types. They become spaces, as Node makes them when it runs the sources, and `.ts` in the name of another
 * module becomes `.js`, which is as long: so a trace names the line and column of the source, and needs no source map.
 */
export function plainModule(source: string): string {
	return stripTypeScriptTypes(source).replaceAll(/(?<=(['"`])\.{1,2}\/[\w./${}[\]-]+)\.ts(?=\1)/g, '.js');
}

/** A package in the making: a folder, which is emptied first. */
class Package {
	readonly folder: string;

	constructor(folder: string) {
		this.folder = folder;
		rmSync(folder, { recursive: true, force: true });
	}

	write(path: string, text: string): void {
		mkdirSync(dirname(join(this.folder, path)), { recursive: true });
		writeFileSync(join(this.folder, path), text);
	}

	writeJson(path: string, content: object): void {
		this.write(path, `${JSON.stringify(content, null, '\t')}\n`);
	}

	/** Copies a file or a folder of the project. */
	copy(path: string, target = path): void {
		cpSync(join(project, path), join(this.folder, target), {
			recursive: true,
			filter: (source) => !/\.ts$|\.png$/.test(source) || source.endsWith('docs/tutorial/demo.png'),
		});
	}

	/** Links of pages to what is not in the package become text, which says where a server has the documentation. */
	replaceLostLinks(): void {
		for (const path of globSync('**/*.md', { cwd: this.folder, exclude: ['node_modules'] })) {
			const text = readFileSync(join(this.folder, path), 'utf8');
			const link = /!?\[([^\]]*)\]\((?!https?:|mailto:|#)([^)\s#]+)(#[^)\s]*)?\)/g;
			this.write(
				path,
				text.replaceAll(link, (whole, name: string, href: string, anchor = '') => {
					const target = posix.join(posix.dirname(path), href);
					if (!target.startsWith('..') && existsSync(join(this.folder, target))) return whole;
					const [, page] = /^[./]*docs\/(.*)\.md$/.exec(target) ?? [];
					return page === undefined ? name : `${name} (\`/docs/${page}${anchor}\` of your server)`;
				}),
			);
		}
	}

	/** Adds a module of the project, without its types. */
	addModule(path: string, folder = '.'): void {
		const source = readFileSync(join(project, path), 'utf8');
		const isPlain = path.endsWith('.js');
		const plain = isPlain ? source.replaceAll(/(?<=import\('\.\/[\w/-]+)\.ts/g, '.js') : plainModule(source);
		// What the program is called where it is installed, and what `npm ci` brings along where it is not.
		const text = plain
			.replaceAll('bin/caskade', 'caskade')
			.replace(/: use 'npm start' .* bring their own\./, '.');
		this.write(join(folder, path.replace(/\.ts$/, '.js')), text);
	}
}

/** Packages of which the service needs few files, which it brings along: a seventh of Swagger UI is what `GET /docs/api` shows. */
const bundled: Readonly<Record<string, readonly string[]>> = {
	'swagger-ui-dist': ['package.json', 'LICENSE', 'NOTICE', 'swagger-ui.css', 'swagger-ui-bundle.js'],
};

interface Manifest {
	readonly name: string;
	readonly version: string;
	readonly dependencies?: Readonly<Record<string, string>>;
}

/**
 * What a package was tested with, to the hash: that of the project's lock file which is neither for development nor the runtime.
 * @param isNeeded of a folder below node_modules; by default all are
 */
function lockOf(manifest: Manifest, isNeeded: (name: string) => boolean = () => true): object {
	const { lockfileVersion, packages } = readJson('package-lock.json');
	const locked: Record<string, object> = { '': manifest };
	for (const [path, entry] of Object.entries<Record<string, unknown>>(packages)) {
		if (path === '' || entry.dev || entry.optional || entry.devOptional) continue;
		const name = path.slice('node_modules/'.length);
		if (!isNeeded(name)) continue;
		const isBundled = name in bundled;
		locked[path] = isBundled ? { ...entry, inBundle: true } : entry;
	}
	return {
		name: manifest.name,
		version: manifest.version,
		lockfileVersion,
		requires: true,
		packages: locked,
	};
}

/** Makes the package `caskade` in a folder. @returns the folder */
export function buildService(folder: string): string {
	const made = new Package(folder);
	// Neither the link to main.js, nor what makes the tag.
	const exclude = ['src/main.ts', '**/tag/*.ts', '**/build-tag.ts'];
	for (const path of globSync(['src/**/*.{ts,js}', 'client/src/*.ts'], { cwd: project, exclude }))
		made.addModule(path);
	for (const path of [...globSync('src/**/*.css', { cwd: project }), ...files]) made.copy(path);
	chmodSync(join(folder, 'src/main.js'), 0o755);
	const manifest = {
		name: 'caskade',
		version,
		description,
		license,
		type,
		engines: { node: '>=26' },
		bin: { caskade: 'src/main.js' },
		dependencies,
		bundleDependencies: Object.keys(bundled),
	};
	made.writeJson('package.json', manifest);
	made.writeJson('npm-shrinkwrap.json', lockOf(manifest));
	for (const [name, parts] of Object.entries(bundled))
		for (const part of parts) made.copy(join('node_modules', name, part));
	made.replaceLostLinks();
	made.write('COMMIT', execFileSync('git', ['rev-parse', 'HEAD'], { cwd: project, encoding: 'utf8' }));
	return folder;
}

/** Compiles a project of TypeScript, with declarations. */
function compile(path: string, outDir: string): void {
	const compiler = join(project, 'node_modules/.bin/tsc');
	execFileSync(compiler, ['--project', join(project, path), '--outDir', outDir], { stdio: 'inherit' });
	// The compiler leaves the names of sources in declarations, where some editors and its older versions find nothing.
	for (const name of globSync('*.d.ts', { cwd: outDir })) {
		const declarations = readFileSync(join(outDir, name), 'utf8');
		writeFileSync(join(outDir, name), declarations.replaceAll(/(?<=['"]\.\/[\w-]+)\.ts(?=['"])/g, '.js'));
	}
}

/**
 * Makes the package `caskade-client` in a folder: the library in `dist/`, and in `command/` the modules that `caskade-client` loads,
 * at the paths that they have here. None of them is the store's.
 * @returns the folder
 */
export async function buildClient(folder: string): Promise<string> {
	const made = new Package(folder);
	compile('client', join(folder, 'dist'));
	const { metafile } = await bundle({
		absWorkingDir: project,
		entryPoints: ['client/command.ts'],
		bundle: true,
		write: false,
		metafile: true,
		platform: 'node',
		format: 'esm',
		packages: 'external',
	});
	const imported = new Set<string>();
	for (const [path, { imports }] of Object.entries(metafile.inputs)) {
		if (!path.startsWith('client/src/')) made.addModule(path, 'command');
		for (const { path: name, external } of imports)
			if (external && !/^(node:|\.)/.test(name)) imported.add(name.replace(/(?<!@[^/]*)\/.*/, ''));
	}
	made.addModule('client/main.js', 'command');
	made.write('command/client/src/index.js', "export * from '../../../dist/index.js';\n");
	made.writeJson('command/client/package.json', { type, version });
	made.copy('LICENSE');
	made.copy('client/README.md', 'README.md');
	made.replaceLostLinks();
	const needed = Object.entries<string>(dependencies).filter(([name]) => imported.has(name));
	const manifest = { ...readJson('client/package.json'), dependencies: Object.fromEntries(needed) };
	made.writeJson('package.json', manifest);
	// Not shipped: the list of parts is made of it. None of them needs another.
	made.writeJson(
		'package-lock.json',
		lockOf(manifest, (name) => imported.has(name)),
	);
	return folder;
}

/** Makes the package `caskade-tag` in a folder. @returns the folder */
export function buildTagModule(folder: string): string {
	const made = new Package(folder);
	// Beside `package.json`, because older resolvers know no `exports`: for them `caskade-tag/react` is a file.
	compile('client/tag', folder);
	made.copy('LICENSE');
	made.copy('client/tag/README.md', 'README.md');
	made.replaceLostLinks();
	made.copy('client/tag/package.json', 'package.json');
	made.writeJson(
		'package-lock.json',
		lockOf(readJson('client/tag/package.json'), () => false),
	);
	return folder;
}

/** Makes all packages, and of each the file that npm installs. @returns these files */
export async function buildPackages(folder = join(project, 'dist')): Promise<string[]> {
	const made = [
		buildService(join(folder, 'caskade')),
		await buildClient(join(folder, 'caskade-client')),
		buildTagModule(join(folder, 'caskade-tag')),
	];
	const packed = execFileSync('npm', ['pack', '--json', '--pack-destination', folder, ...made], {
		encoding: 'utf8',
		stdio: ['ignore', 'pipe', 'inherit'],
	});
	return (JSON.parse(packed) as { filename: string }[]).map(({ filename }) => join(folder, filename));
}

if (import.meta.main) for (const file of await buildPackages()) console.log(file);
