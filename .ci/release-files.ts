/**
 * `npm run release:files` makes what a release is published as, in `dist/release`: the packages, and of each its list of parts
 * (CycloneDX) and the licenses of these; checksums of all, and where they come from (SLSA provenance). `npm run release` runs it on
 * the tagged commit.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, globSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import process from 'node:process';
import { buildPackages } from './build.ts';

const project = join(import.meta.dirname, '..');

/** @returns the files, in a folder that is emptied first */
export async function makeReleaseFiles(folder: string): Promise<string[]> {
	const built = join(folder, 'built');
	rmSync(folder, { recursive: true, force: true });
	mkdirSync(folder, { recursive: true });
	for (const packed of await buildPackages(built)) {
		copyFileSync(packed, join(folder, basename(packed)));
		const release = basename(packed, '.tgz');
		const source = join(built, release.replace(/-\d.*/, ''));
		writeFileSync(join(folder, `${release}.cdx.json`), partsOf(source));
		writeFileSync(join(folder, `${release}.licenses.txt`), licensesOf(source));
	}
	rmSync(built, { recursive: true });
	const sums = readdirSync(folder)
		.sort()
		.map((name) => ({ name, sha256: sha256(join(folder, name)) }));
	writeFileSync(join(folder, 'SHA256SUMS'), sums.map(({ name, sha256 }) => `${sha256}  ${name}\n`).join(''));
	writeFileSync(join(folder, 'provenance.json'), `${JSON.stringify(provenanceOf(sums), null, '\t')}\n`);
	sign(join(folder, 'SHA256SUMS'), join(folder, 'provenance.json'));
	return readdirSync(folder).sort();
}

/** What a package consists of, by its lock file. */
function partsOf(source: string): string {
	const options = ['--package-lock-only', '--omit=dev', '--sbom-format=cyclonedx'];
	return execFileSync('npm', ['sbom', ...options], { cwd: source, encoding: 'utf8' });
}

/** The license of a package, and of each that is installed with it, with its text. */
function licensesOf(source: string): string {
	const [lockFile = ''] = globSync('{npm-shrinkwrap,package-lock}.json', { cwd: source });
	const { packages } = JSON.parse(readFileSync(join(source, lockFile), 'utf8'));
	const paths = Object.keys(packages).filter((path) => path !== '');
	const parts = [source, ...paths.map((path) => join(project, path))].map((path) => {
		const { name, version, license } = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8'));
		if (typeof license !== 'string') throw new Error(`${name} ${version} does not name its license.`);
		const texts = globSync('{LICENSE,LICENCE,license,NOTICE}*', { cwd: path }).sort();
		return [
			`${name} ${version}: ${license}`,
			...texts.map((text) => readFileSync(join(path, text), 'utf8').trim()),
		];
	});
	return `${parts.map((lines) => lines.join('\n\n')).join(`\n\n${'-'.repeat(72)}\n\n`)}\n`;
}

function sha256(file: string): string {
	return createHash('sha256').update(readFileSync(file)).digest('hex');
}

/** Which commit the files were made of, and how, as https://slsa.dev/spec/v1.1/provenance has it. */
function provenanceOf(sums: readonly { readonly name: string; readonly sha256: string }[]): object {
	const commit = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: project, encoding: 'utf8' }).trim();
	return {
		_type: 'https://in-toto.io/Statement/v1',
		subject: sums.map(({ name, sha256 }) => ({ name, digest: { sha256 } })),
		predicateType: 'https://slsa.dev/provenance/v1',
		predicate: {
			buildDefinition: {
				buildType: 'npm run release:files',
				externalParameters: { commit },
				internalParameters: { node: process.version, platform: `${process.platform}-${process.arch}` },
				resolvedDependencies: [
					{ uri: 'package-lock.json', digest: { sha256: sha256(join(project, 'package-lock.json')) } },
				],
			},
			runDetails: { builder: { id: 'npm run release:files' } },
		},
	};
}

/** Signs files with the key by which git signs, where that is a key of SSH: FILE.sig beside each. */
function sign(...files: readonly string[]): void {
	const setting = (name: string) => {
		try {
			return execFileSync('git', ['config', '--type=path', name], { cwd: project, encoding: 'utf8' }).trim();
		} catch {
			return '';
		}
	};
	const key = setting('user.signingKey');
	if (setting('gpg.format') === 'ssh' && key !== '')
		execFileSync('ssh-keygen', ['-Y', 'sign', '-f', key, '-n', 'file', ...files], { stdio: 'inherit' });
	else
		console.error(
			'Not signed: git has no key of SSH here (gpg.format, user.signingKey). SECURITY.md says how to sign later.',
		);
}

if (import.meta.main) {
	const folder = process.argv[2] ?? join(project, 'dist/release');
	for (const file of await makeReleaseFiles(folder)) console.log(join(folder, file));
}
