import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.ts';
import { TestProcess } from './process.ts';

const documented = join(import.meta.dirname, '../docs/how-to/install.md');
const tagPage = join(import.meta.dirname, '../docs/reference/tag.md');

/** A real nginx with the configuration of docs/how-to/install.md or docs/reference/tag.md. Only the addresses differ, and there is no TLS. */
export class Nginx implements AsyncDisposable {
	readonly url: string;
	readonly #process: TestProcess;
	readonly #folder: string;

	/** @param server the text of `upstream` and `server` blocks */
	private constructor(port: number, server: string) {
		this.url = `http://127.0.0.1:${port}`;
		this.#folder = mkdtempSync(join(tmpdir(), 'caskade-nginx-'));
		const configuration = join(this.#folder, 'nginx.conf');
		writeFileSync(configuration, configurationOf(server, this.#folder));
		this.#process = new TestProcess('nginx', ['-p', this.#folder, '-c', configuration, '-e', 'stderr']);
	}

	/** @param keepAlive how long it keeps an idle connection to the service, where not as documented */
	static async start(url: string, keepAlive = '60s'): Promise<Nginx> {
		const port = await freePort();
		const example = installExample(url, port);
		return new Nginx(port, example.replace('keepalive_timeout 60s', `keepalive_timeout ${keepAlive}`));
	}

	/** Starts a site with the locations of docs/reference/tag.md and one page. */
	static async startSite(url: string, page: string): Promise<Nginx> {
		const port = await freePort();
		const [, locations = ''] = /^```nginx\n(.*?)^```/ms.exec(readFileSync(tagPage, 'utf8')) ?? [];
		const proxied = locations.replace('127.0.0.1:8080', new URL(url).host);
		const server = `server { listen 127.0.0.1:${port}; location = / { return 200 '${page}'; } ${proxied} }`;
		return new Nginx(port, server);
	}

	async [Symbol.asyncDispose](): Promise<void> {
		await this.#process.kill('SIGTERM');
		rmSync(this.#folder, { recursive: true, force: true });
	}
}

function installExample(url: string, port: number): string {
	const [, example = ''] =
		/^```\n(upstream caskade \{.*?)^```/ms.exec(readFileSync(documented, 'utf8')) ?? [];
	return example
		.replace('127.0.0.1:8080', new URL(url).host)
		.replace('listen 443 ssl', `listen 127.0.0.1:${port}`)
		.replaceAll(/^ *ssl_.*\n/gm, '');
}

function configurationOf(server: string, folder: string): string {
	const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
		(name) => `${name}_temp_path ${folder}/${name};`,
	);
	return `daemon off; pid ${folder}/nginx.pid; worker_processes 1; events {} http { ${temporary.join(' ')}\n${server}\n}`;
}
