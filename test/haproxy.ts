import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { LoadBalancer } from './balancer.ts';
import { freePort } from './free-port.ts';
import { TestProcess } from './process.ts';

const deployed = join(import.meta.dirname, '../deploy/compose/haproxy.cfg');

/** A real HAProxy with the configuration `deploy/compose/haproxy.cfg`. Only the addresses differ. */
export class Haproxy implements LoadBalancer {
	readonly url: string;
	readonly #process: TestProcess;
	readonly #folder: string;
	readonly #statsUrl: string;
	readonly #urls: readonly string[];
	#rows: string[][] = [];
	#stopped = false;

	private constructor(urls: readonly string[], { port, consolePort, statsPort }: Ports) {
		this.#urls = urls;
		this.url = `http://127.0.0.1:${port}`;
		this.#statsUrl = `http://127.0.0.1:${statsPort}/stats;csv`;
		this.#folder = mkdtempSync(join(tmpdir(), 'caskade-haproxy-'));
		const configuration = join(this.#folder, 'haproxy.cfg');
		writeFileSync(configuration, configurationFor(urls, { port, consolePort, statsPort }));
		this.#process = new TestProcess('haproxy', ['-db', '-f', configuration]);
	}

	/** @param urls two servers */
	static async start(urls: readonly string[]): Promise<Haproxy> {
		const [port, consolePort, statsPort] = [await freePort(), await freePort(), await freePort()];
		const haproxy = new Haproxy(urls, { port, consolePort, statsPort });
		void haproxy.#watch();
		return haproxy;
	}

	isReady(url: string): boolean {
		return this.#row(url)?.[17]?.startsWith('UP') ?? false;
	}

	forwarded(url: string): number {
		return Number(this.#row(url)?.[7] ?? 0);
	}

	#row(url: string): string[] | undefined {
		const name = `caskade-${this.#urls.indexOf(url) + 1}`;
		return this.#rows.find(([backend, server]) => backend === 'caskade' && server === name);
	}

	async #watch(): Promise<void> {
		while (!this.#stopped) {
			const text = await fetch(this.#statsUrl).then(
				(answer) => answer.text(),
				() => '',
			);
			if (text) this.#rows = text.split('\n').map((line) => line.split(','));
			await delay(50);
		}
	}

	async [Symbol.asyncDispose](): Promise<void> {
		this.#stopped = true;
		await this.#process.kill();
		rmSync(this.#folder, { recursive: true, force: true });
	}
}

interface Ports {
	readonly port: number;
	readonly consolePort: number;
	readonly statsPort: number;
}

function configurationFor(urls: readonly string[], { port, consolePort, statsPort }: Ports): string {
	let text = readFileSync(deployed, 'utf8')
		.replace('bind :8080', `bind 127.0.0.1:${port}`)
		.replace('bind :8081', `bind 127.0.0.1:${consolePort}`)
		.replaceAll('resolvers docker init-addr libc,none', '');
	// What asks for the console reaches the operations instead: nothing here asks for it.
	for (const [index, url] of urls.entries())
		text = text.replaceAll(new RegExp(`caskade-${index + 1}:808[01]`, 'g'), new URL(url).host);
	return `${text}\nfrontend stats\n    bind 127.0.0.1:${statsPort}\n    stats enable\n    stats uri /stats\n`;
}

const tagPage = join(import.meta.dirname, '../docs/reference/tag.md');

/** A real HAProxy with the configuration of docs/reference/tag.md in front of one page. Only the addresses differ, and there is no TLS. */
export class HaproxySite implements AsyncDisposable {
	readonly url: string;
	readonly #process: TestProcess;
	readonly #folder: string;

	private constructor(url: string, port: number, page: string) {
		this.url = `http://127.0.0.1:${port}`;
		this.#folder = mkdtempSync(join(tmpdir(), 'caskade-haproxy-'));
		const file = join(this.#folder, 'haproxy.cfg');
		const [, documented = ''] = /^```haproxy\n(.*?)^```/ms.exec(readFileSync(tagPage, 'utf8')) ?? [];
		const proxied = documented
			.replace(/bind :443.*/, `bind 127.0.0.1:${port}`)
			.replace('127.0.0.1:8080', new URL(url).host);
		writeFileSync(
			file,
			`defaults\n mode http\n timeout connect 5s\n timeout client 60s\n timeout server 60s\n${proxied}\nbackend shop\n http-request return status 200 content-type text/html string "${page}"\n`,
		);
		this.#process = new TestProcess('haproxy', ['-db', '-f', file]);
	}

	static async start(url: string, page: string): Promise<HaproxySite> {
		return new HaproxySite(url, await freePort(), page);
	}

	async [Symbol.asyncDispose](): Promise<void> {
		await this.#process.kill();
		rmSync(this.#folder, { recursive: true, force: true });
	}
}
