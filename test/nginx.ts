import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort, TestProcess } from './process.ts';

const documented = join(import.meta.dirname, '../docs/install.md');

/** A real nginx as docs/install.md sets it up; only the addresses are others, and there is no TLS. */
export class Nginx implements AsyncDisposable {
	readonly url: string;
	readonly #process: TestProcess;
	readonly #folder: string;

	private constructor(url: string, port: number) {
		this.url = `http://127.0.0.1:${port}`;
		this.#folder = mkdtempSync(join(tmpdir(), 'caskade-nginx-'));
		const configuration = join(this.#folder, 'nginx.conf');
		writeFileSync(configuration, configurationFor(url, port, this.#folder));
		this.#process = new TestProcess('nginx', ['-p', this.#folder, '-c', configuration, '-e', 'stderr']);
	}

	static async start(url: string): Promise<Nginx> {
		return new Nginx(url, await freePort());
	}

	async [Symbol.asyncDispose](): Promise<void> {
		await this.#process.kill('SIGTERM');
		rmSync(this.#folder, { recursive: true, force: true });
	}
}

function configurationFor(url: string, port: number, folder: string): string {
	const [, example = ''] =
		/^```\n(upstream caskade \{.*?)^```/ms.exec(readFileSync(documented, 'utf8')) ?? [];
	const server = example
		.replace('127.0.0.1:8080', new URL(url).host)
		.replace('listen 443 ssl', `listen 127.0.0.1:${port}`)
		.replaceAll(/^ *ssl_.*\n/gm, '');
	const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
		(name) => `${name}_temp_path ${folder}/${name};`,
	);
	return `daemon off; pid ${folder}/nginx.pid; worker_processes 1; events {} http { ${temporary.join(' ')}\n${server}\n}`;
}
