import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdtempSync, rmdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A file system of 16 MiB in memory. Only root can mount one. */
export class SmallDisk implements Disposable {
	readonly path = mkdtempSync(join(tmpdir(), 'caskade-disk-'));
	readonly #filler = join(this.path, 'filler');

	constructor() {
		try {
			execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=16m', 'tmpfs', this.path], { stdio: 'pipe' });
		} catch (error) {
			rmdirSync(this.path);
			throw error;
		}
	}

	/** Fills it to the last byte. */
	fill(): void {
		for (const bytes of [1024 * 1024, 4096, 1])
			try {
				for (;;) appendFileSync(this.#filler, Buffer.alloc(bytes, 1));
			} catch (error) {
				if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
			}
	}

	/** Frees the space that `fill` took. */
	free(): void {
		rmSync(this.#filler);
	}

	[Symbol.dispose](): void {
		// Lazily, because a server that is ending may have a file open.
		execFileSync('umount', ['--lazy', this.path]);
		rmdirSync(this.path);
	}
}

/** For a test's `skip`: the reason why no small disk can be mounted here, or false. */
export function noSmallDisk(): string | false {
	try {
		using _ = new SmallDisk();
		return false;
	} catch (error) {
		return `no file system can be mounted here: ${(error as Error).message.trim().split('\n').at(-1)}`;
	}
}
