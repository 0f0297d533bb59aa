import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';

const projectFolder = join(import.meta.dirname, '..');

/** Those with the most modules, some 1,500 together. */
const packages = [
	'@fastify/static',
	'@marcbachmann/cel-js',
	'commander',
	'csv-parse/sync',
	'fastify',
	'pg',
	'pino',
	'prom-client',
];

/**
 * Bundles packages that take long to load: loading them module by module was a quarter of the CPU time of the tests. The
 * program itself runs as it ships. Bundles are kept for as long as the packages stay.
 * @returns the bundles' URLs by what is imported, for `test/quick-loading.js`
 */
export async function bundle(): Promise<Record<string, string>> {
	const folder = join(tmpdir(), `caskade-test-bundles-${hashOfSources()}`);
	if (!existsSync(folder)) {
		const unfinished = mkdtempSync(`${folder}-`);
		await bundleInto(unfinished);
		try {
			renameSync(unfinished, folder);
		} catch (error) {
			// Another run was quicker.
			if (!existsSync(folder)) throw error;
			rmSync(unfinished, { recursive: true });
		}
	}
	return Object.fromEntries(
		packages.map((name) => [name, pathToFileURL(join(folder, `${bundleName(name)}.mjs`)).href]),
	);
}

const bundleName = (name: string) => name.replaceAll(/\W/g, '_');

function hashOfSources(): string {
	const hash = createHash('sha256').update(projectFolder);
	for (const file of ['package-lock.json', 'test/bundles.ts'])
		hash.update(file).update(readFileSync(join(projectFolder, file)));
	return hash.digest('hex').slice(0, 16);
}

/** What two of the bundles share is there once. */
async function bundleInto(folder: string): Promise<void> {
	const entryPoints: Record<string, string> = {};
	for (const name of packages) {
		const entry = join(folder, `${bundleName(name)}.entry.mjs`);
		writeFileSync(entry, reexport(name, Object.keys(await import(name))));
		entryPoints[bundleName(name)] = entry;
	}
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
		external: ['pg-native', 'pino-pretty'],
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
