import { existsSync, readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';

const projectFolder = join(import.meta.dirname, '../..');

/** For example `0.1.0`. */
export const version: string = JSON.parse(read(projectFolder, 'package.json')).version;

/** The commit of this code, as far as it is known. Read once: a checkout may change while a server runs. */
export const commit: string | undefined = commitOf(projectFolder);

/**
 * The commit of a folder: what its file `COMMIT` says, as in the image, or what git has checked out there. Without a `git`
 * process, which would take longer than the rest of a start.
 */
export function commitOf(folder: string): string | undefined {
	try {
		const name = existsSync(join(folder, 'COMMIT')) ? read(folder, 'COMMIT') : headOf(join(folder, '.git'));
		return /^[0-9a-f]{40}/.exec(name)?.[0].slice(0, 12);
	} catch {
		return undefined;
	}
}

/** See gitrepository-layout(5). */
function headOf(dotGit: string): string {
	// Of a work tree that was added to a repository, `.git` is a file that names the folder.
	const gitFolder = statSync(dotGit).isFile()
		? resolve(dotGit, '../..', read(dotGit).replace(/^gitdir: /, ''))
		: dotGit;
	const head = read(gitFolder, 'HEAD');
	const [, ref] = /^ref: (.+)/.exec(head) ?? [];
	if (ref === undefined) return head;
	const common = existsSync(join(gitFolder, 'commondir'))
		? resolve(gitFolder, read(gitFolder, 'commondir'))
		: gitFolder;
	if (existsSync(join(common, ref))) return read(common, ref);
	const packed = read(common, 'packed-refs').split('\n');
	return packed.find((line) => line.endsWith(` ${ref}`)) ?? '';
}

function read(...path: string[]): string {
	return readFileSync(join(...path), 'utf8').trim();
}
