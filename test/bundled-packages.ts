import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';

const projectFolder = join(import.meta.dirname, '..');

/** Those with the most modules: together some 1,500, which take each server of a test half a second of CPU to load. */
const packages = [
	'@fastify/static',
	'@fastify/swagger',
	'@marcbachmann/cel-js',
	'commander',
	'csv-parse/sync',
	'fastify',
	'kysely',
	'pg',
	'pino',
	'prom-client',
	'typebox',
	'typebox/compile',
];

/**
 * Bundles the packages that are slow to load into one file each, once for every content of the lock file.
 * @returns their files' URLs by package, for `test/quick-loading.js`
 */
export async function bundlePackages(): Promise<Record<string, string>> {
	const lock = createHash('sha256')
		.update(readFileSync(join(projectFolder, 'package-lock.json')))
		.update(readFileSync(import.meta.filename))
		.update(projectFolder);
	const folder = join(tmpdir(), `caskade-test-packages-${lock.digest('hex').slice(0, 16)}`);
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
		packages.map((name) => [name, pathToFileURL(join(folder, `${fileName(name)}.mjs`)).href]),
	);
}

const fileName = (name: string) => name.replaceAll(/\W/g, '_');

async function bundleInto(folder: string): Promise<void> {
	const entryPoints: Record<string, string> = {};
	for (const name of packages) {
		const entry = join(folder, `${fileName(name)}.entry.mjs`);
		writeFileSync(entry, reexport(name, Object.keys(await import(name))));
		entryPoints[fileName(name)] = entry;
	}
	await build({
		absWorkingDir: projectFolder,
		nodePaths: [join(projectFolder, 'node_modules')],
		entryPoints,
		outdir: folder,
		outExtension: { '.js': '.mjs' },
		bundle: true,
		// What two packages share must be there once.
		splitting: true,
		format: 'esm',
		platform: 'node',
		external: ['pg-native', 'pino-pretty'],
		// What CommonJS modules expect.
		banner: {
			js: [
				"import { createRequire as caskadeCreateRequire } from 'node:module';",
				`const require = caskadeCreateRequire(${JSON.stringify(join(projectFolder, 'package.json'))});`,
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
