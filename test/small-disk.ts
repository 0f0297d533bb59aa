import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdtempSync, rmdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A disk of 16 MiB, of its own: a file system in memory. Only root may mount one. */
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

	/** Leaves not one byte. */
	fill(): void {
		for (const bytes of [1024 * 1024, 4096, 1])
			try {
				for (;;) appendFileSync(this.#filler, Buffer.alloc(bytes, 1));
			} catch (error) {
				if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
			}
	}

	/** Gives back what `fill` took. */
	free(): void {
		rmSync(this.#filler);
	}

	[Symbol.dispose](): void {
		// Lazily: a server that is just ending may have a file open.
		execFileSync('umount', ['--lazy', this.path]);
		rmdirSync(this.path);
	}
}

/** Why there is no small disk here, for a test's `skip`; `false` where there is one. */
export function noSmallDisk(): string | false {
	try {
		using _ = new SmallDisk();
		return false;
	} catch (error) {
		return `no file system can be mounted here: ${(error as Error).message.trim().split('\n').at(-1)}`;
	}
}
