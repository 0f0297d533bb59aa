import { cpSync, existsSync, globSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Ended, TestProcess } from './process.ts';
import type { Lasting } from './support.ts';
import { temporaryFolder } from './support.ts';

const project = join(import.meta.dirname, '..');
const imported = /(?:from|import|import\()\s*'(\.[^']+)'|new URL\('(\.[^']+\.(?:ts|js))'/g;

/** A copy of the project of which a part is gone. */
export class ProjectPart {
	readonly folder: string;

	constructor(t: Lasting) {
		this.folder = temporaryFolder(t);
		const parts = ['src', 'test', 'client', 'bench', 'migrations', 'docs', 'demo', 'bin', '.ci'];
		for (const part of [...parts, 'package.json', 'package-lock.json', 'tsconfig.json', 'README.md'])
			cpSync(join(project, part), join(this.folder, part), {
				recursive: true,
				filter: (path) => !path.includes('/node_modules'),
			});
		symlinkSync(join(project, 'node_modules'), join(this.folder, 'node_modules'));
	}

	files(pattern: string): string[] {
		return globSync(pattern, { cwd: this.folder }).sort();
	}

	text(file: string): string {
		return readFileSync(join(this.folder, file), 'utf8');
	}

	delete(...paths: readonly string[]): void {
		for (const path of paths) rmSync(join(this.folder, path), { recursive: true, force: true });
	}

	rewrite(file: string, change: (text: string) => string): void {
		writeFileSync(join(this.folder, file), change(this.text(file)));
	}

	/** What a file imports to run, lazily too, as paths in the project. @param withTypes whether also what it is checked with */
	importsOf(file: string, withTypes = true): string[] {
		const text = withTypes ? this.text(file) : this.text(file).replaceAll(/^import type [^;]*;/gm, '');
		return [...text.matchAll(imported)].map(([, path, url]) => join(dirname(file), (path ?? url) as string));
	}

	/**
	 * Deletes tests that need what is gone, and what they share.
	 * @param withTypes whether also those that only need its types
	 * @returns what is left of those that a pattern names
	 */
	pruneTests(pattern: string, withTypes = true): string[] {
		for (let isDone = false; !isDone; ) {
			const broken = this.files('{test,bench,client}/**/*.ts').filter((file) =>
				this.importsOf(file, withTypes).some((path) => !existsSync(join(this.folder, path))),
			);
			this.delete(...broken);
			isDone = broken.length === 0;
		}
		return this.files(pattern);
	}

	async run(args: readonly string[], environment: Readonly<Record<string, string>> = {}): Promise<Ended> {
		await using process_ = new TestProcess(process.execPath, args, environment, this.folder);
		return await process_.ended;
	}

	/** Checks the types of what is left. */
	types(): Promise<Ended> {
		return this.run([join(project, 'node_modules/typescript/bin/tsc'), '--noEmit', '--project', '.']);
	}

	/** Runs test files, or files of `test/suites`, which run what is left of them. */
	test(files: readonly string[], environment: Readonly<Record<string, string>> = {}): Promise<Ended> {
		const setup = ['--import', './test/quick-loading.js', '--test-global-setup=test/before-all.ts'];
		return this.run(['--test', '--test-concurrency=2', ...setup, ...files], environment);
	}
}
