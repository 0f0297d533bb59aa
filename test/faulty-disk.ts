import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { basename, join } from 'node:path';

export interface Fault {
	readonly call: 'fsync' | 'write' | 'truncate';
	/** How the paths of the files end that it strikes, as `accounts/1.sqlite-wal`. */
	readonly path: string;
	readonly error: 'EIO' | 'ENOSPC';
}

/** A disk that fails when it is told to, for the databases of processes that have its environment; see `faulty-disk.c`. */
export class FaultyDisk {
	readonly #folder: string;
	readonly environment: Readonly<Record<string, string>>;

	/** @param folder of its own */
	constructor(folder: string) {
		this.#folder = folder;
		const library = join(this.#folder, 'library.so');
		execFileSync('cc', [
			'-shared',
			'-fPIC',
			'-O1',
			'-o',
			library,
			join(import.meta.dirname, 'faulty-disk.c'),
			'-ldl',
		]);
		mkdirSync(this.#images);
		this.environment = { LD_PRELOAD: library, FAULTY_DISK: this.#images };
	}

	get #images(): string {
		return join(this.#folder, 'images');
	}

	/** Until `heal`. */
	fail(...faults: readonly Fault[]): void {
		this.#tell(faults, '*');
	}

	/** Until it has struck. */
	failOnce(fault: Fault): void {
		this.#tell([fault], '1');
	}

	#tell(faults: readonly Fault[], times: '1' | '*'): void {
		const lines = faults.map(
			({ call, path, error }) => `${times} ${call} ${path} ${constants.errno[error]}\n`,
		);
		writeFileSync(join(this.#images, 'faults'), lines.join(''));
	}

	heal(): void {
		this.fail();
	}

	/** Takes all of a data folder, which no process uses yet, for durable. */
	adopt(dataFolder: string): void {
		for (const path of databaseFiles(dataFolder)) copyFileSync(path, this.#imageOf(path));
	}

	/** Leaves of a data folder, which no process uses any more, what was durable. */
	cutPower(dataFolder: string): void {
		for (const path of databaseFiles(dataFolder)) {
			rmSync(path);
			if (existsSync(this.#imageOf(path))) copyFileSync(this.#imageOf(path), path);
		}
	}

	#imageOf(path: string): string {
		return join(this.#images, basename(path));
	}
}

function databaseFiles(dataFolder: string): string[] {
	return readdirSync(dataFolder, { recursive: true, encoding: 'utf8' })
		.filter((name) => /\.sqlite(-\w+)?$/.test(name))
		.map((name) => join(dataFolder, name));
}

/** Why no disk can be made to fail here, for a test's `skip`; `false` where one can. */
export function noFaultyDisk(): string | false {
	if (process.platform !== 'linux') return 'disks are made to fail as Linux allows it';
	try {
		execFileSync('cc', ['--version'], { stdio: 'ignore' });
		return false;
	} catch {
		return "there is no C compiler here; install one as 'cc' (on Debian: apt-get install gcc libc6-dev)";
	}
}
