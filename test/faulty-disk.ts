import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { basename, join } from 'node:path';

export interface Fault {
	readonly call: 'fsync' | 'write' | 'truncate';
	/** The files that it affects, by the end of their path, for example `accounts/1.sqlite-wal`. */
	readonly path: string;
	readonly error: 'EIO' | 'ENOSPC';
}

/** A disk that fails on demand, for the databases of processes with its `environment`; see `faulty-disk.c`. */
export class FaultyDisk {
	readonly #folder: string;
	readonly environment: Readonly<Record<string, string>>;

	/** @param folder an empty folder for its use */
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

	/** Fails all matching calls until `heal`. */
	fail(...faults: readonly Fault[]): void {
		this.#tell(faults, '*');
	}

	/** Fails the next matching call. */
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

	/** Treats the content of a data folder as durable. No process may use the folder yet. */
	adopt(dataFolder: string): void {
		for (const path of databaseFiles(dataFolder)) copyFileSync(path, this.#imageOf(path));
	}

	/** Reduces a data folder to its durable content. No process may use the folder any more. */
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

/** For a test's `skip`: the reason why no disk can be made to fail here, or false. */
export function noFaultyDisk(): string | false {
	if (process.platform !== 'linux') return 'the faulty disk needs Linux';
	try {
		execFileSync('cc', ['--version'], { stdio: 'ignore' });
		return false;
	} catch {
		return "there is no C compiler 'cc' here (on Debian: apt-get install gcc libc6-dev)";
	}
}
