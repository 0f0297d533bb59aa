import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build, type Plugin } from 'esbuild';

const projectFolder = join(import.meta.dirname, '..');
const mainModule = 'src/cli/caskade.ts';

/** Those with the most modules, some 1,500 together. */
const packages = [
	'@fastify/static',
	'@marcbachmann/cel-js',
	'commander',
	'csv-parse/sync',
	'fastify',
	'kysely',
	'pg',
	'pino',
	'prom-client',
];

/**
 * Bundles what takes long to load: the program and its threads, as processes of tests run them, and packages. Loading
 * these module by module was a third of the CPU time of the tests. A bundle is kept for as long as its sources stay.
 * @returns the bundles' URLs by what is imported, for `test/quick-loading.js`
 */
export async function bundle(): Promise<Record<string, string>> {
	const threads = globSync('src/**/*-thread.ts', { cwd: projectFolder });
	const folder = join(tmpdir(), `caskade-test-bundles-${hashOfSources()}`);
	if (!existsSync(folder)) {
		const unfinished = mkdtempSync(`${folder}-`);
		await bundleInto(unfinished, threads);
		try {
			renameSync(unfinished, folder);
		} catch (error) {
			// Another run was quicker.
			if (!existsSync(folder)) throw error;
			rmSync(unfinished, { recursive: true });
		}
	}
	const url = (name: string) => pathToFileURL(join(folder, `${bundleName(name)}.mjs`)).href;
	return Object.fromEntries([
		// As `src/main.js` imports it. Tests import it by another path, and get the module itself.
		['./cli/caskade.ts', url(mainModule)],
		...threads.map((thread) => [pathToFileURL(join(projectFolder, thread)).href, url(thread)]),
		...packages.map((name) => [name, url(name)]),
	]);
}

const bundleName = (name: string) => name.replaceAll(/\W/g, '_');

function hashOfSources(): string {
	const hash = createHash('sha256').update(projectFolder);
	const sources = globSync('src/**/*.{ts,js}', { cwd: projectFolder }).sort();
	for (const file of ['package-lock.json', 'test/bundles.ts', ...sources])
		hash.update(file).update(readFileSync(join(projectFolder, file)));
	return hash.digest('hex').slice(0, 16);
}

async function bundleInto(folder: string, threads: readonly string[]): Promise<void> {
	const sources = (files: readonly string[]) =>
		Object.fromEntries(files.map((file) => [bundleName(file), join(projectFolder, file)]));
	// Each store has one, and one file loads quicker than many that are shared.
	const small = threads.filter((thread) => thread.startsWith('src/store/'));
	for (const thread of small) await bundleTogether(folder, sources([thread]));
	await bundleTogether(folder, sources([mainModule, ...threads.filter((thread) => !small.includes(thread))]));
	const entryPoints: Record<string, string> = {};
	for (const name of packages) {
		const entry = join(folder, `${bundleName(name)}.entry.mjs`);
		writeFileSync(entry, reexport(name, Object.keys(await import(name))));
		entryPoints[bundleName(name)] = entry;
	}
	await bundleTogether(folder, entryPoints);
}

/** What two of the bundles share is there once. */
async function bundleTogether(folder: string, entryPoints: Record<string, string>): Promise<void> {
	await build({
		absWorkingDir: projectFolder,
		nodePaths: [join(projectFolder, 'node_modules')],
		entryPoints,
		outdir: folder,
		outExtension: { '.js': '.mjs' },
		bundle: true,
		splitting: true,
		format: 'esm',
		platform: 'node',
		external: ['esbuild', 'pg-native', 'pino-pretty'],
		plugins: [ownLocation],
		// What CommonJS modules expect.
		banner: {
			js: [
				"import { createRequire as createRequireOfBundle } from 'node:module';",
				`const require = createRequireOfBundle(${JSON.stringify(join(projectFolder, 'package.json'))});`,
				`const __dirname = ${JSON.stringify(join(projectFolder, 'node_modules'))};`,
				'const __filename = __dirname;',
			].join('\n'),
		},
		logLevel: 'warning',
	});
}

/** Modules in a bundle find files and packages from where their sources are. */
const ownLocation: Plugin = {
	name: 'own location',
	setup({ onLoad }) {
		onLoad({ filter: /\/src\/.*\.ts$/ }, ({ path }) => {
			if (!path.startsWith(join(projectFolder, 'src'))) return undefined;
			const url = JSON.stringify(pathToFileURL(path).href);
			const contents = readFileSync(path, 'utf8')
				.replaceAll('import.meta.url', url)
				.replaceAll('import.meta.filename', JSON.stringify(path))
				.replaceAll('import.meta.dirname', JSON.stringify(dirname(path)))
				.replaceAll(
					'import.meta.resolve(',
					`((name) => 'file://' + process.getBuiltinModule('node:module').createRequire(${url}).resolve(name))(`,
				);
			return { contents, loader: 'ts' };
		});
	},
};

/** A module that exports by name what a package does; of CommonJS, a bundle exports nothing but the default. */
function reexport(name: string, exported: readonly string[]): string {
	const names = exported.filter((each) => /^[A-Za-z_$][\w$]*$/.test(each) && each !== 'default');
	return [
		`import * as all from '${name}';`,
		exported.includes('default') ? 'export default all.default;' : '',
		...names.map((each, index) => `const export${index} = all.${each};`),
		`export { ${names.map((each, index) => `export${index} as ${each}`).join(', ')} };`,
	].join('\n');
}
