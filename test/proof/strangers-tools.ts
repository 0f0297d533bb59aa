/**
 * `npm run proof:strangers-tools [-- --only TOOL]` lets tools that others have written look for faults: scanners of TLS, of web
 * applications and of OpenAPI documents, and clients that are slow. It fails where one finds any. Those of Debian must be installed;
 * those of npm are fetched. `docs/decisions/0005-http.md` has what they found.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { selfSignedPair } from '../../src/core/http/self-signed.ts';
import { TestProcess } from '../process.ts';
import { ask, endWorld, startWorld, type World } from './strangers-world.ts';

/** The addresses of a server with TLS, of one without, and a folder for files. */
interface Target {
	readonly secure: World;
	readonly plain: World;
	readonly folder: string;
}

interface Tool {
	readonly name: string;
	/** What the tool looks at. */
	readonly looksAt: string;
	/** Debian's package; absent where npm has it. */
	readonly debian?: string;
	/** @returns a line for each finding */
	run(target: Target): Promise<readonly string[]>;
}

/** What tools report, and why it is none. */
const accepted: readonly { readonly finding: RegExp; readonly because: string }[] = [
	{ finding: /X-Frame-Options/, because: 'browsers heed `frame-ancestors` of the policy instead' },
	{ finding: /X-XSS-Protection/, because: 'browsers have removed what it turned on' },
	{
		finding: /Strict-Transport-Security/,
		because: 'this server has no TLS, and another one of the host may need none',
	},
];

/** How long a tool may take. */
const toolMs = 600_000;
/** How soon the service answers others while slow clients hold connections. */
const answerMs = 1000;

/** Runs a tool to its end. @throws where it does not end in time */
async function run(command: string, args: readonly string[]): Promise<string> {
	await using tool = new TestProcess(command, args);
	tool.child.stdin?.end();
	const { stdout, stderr } = await tool.endsWithin(toolMs);
	return stdout + stderr;
}

const portOf = (url: string) => new URL(url).port;

const tools: readonly Tool[] = [
	{
		name: 'testssl',
		looksAt: 'protocols, suites, certificates and known faults of TLS',
		debian: 'testssl.sh',
		async run({ secure, folder }) {
			const file = join(folder, 'testssl.json');
			const parts = ['--protocols', '--std', '--server-defaults', '--server-preference', '--vulnerable'];
			await run('testssl', [
				...['--quiet', '--color', '0', '--warnings', 'off', '--jsonfile', file],
				...[...parts, `127.0.0.1:${portOf(secure.server.url)}`],
			]);
			const found = JSON.parse(readFileSync(file, 'utf8')) as {
				id: string;
				severity: string;
				finding: string;
			}[];
			if (found.length < 20) return [`it ended early: ${JSON.stringify(found)}`];
			// The certificate is the proof's own.
			const isOurs = (id: string) => !/^(cert|OCSP|DNS_CAA|engine)/.test(id);
			return found
				.filter(({ id, severity }) => isOurs(id) && ['LOW', 'MEDIUM', 'HIGH', 'CRITICAL'].includes(severity))
				.map(({ id, severity, finding }) => `${severity} ${id}: ${finding}`);
		},
	},
	{
		name: 'sslscan',
		looksAt: 'protocols, suites and renegotiation of TLS',
		debian: 'sslscan',
		async run({ secure }) {
			const text = await run('sslscan', ['--no-colour', `127.0.0.1:${portOf(secure.server.url)}`]);
			const lines = text.split('\n');
			if (!lines.some((line) => /TLSv1\.3\s+enabled/.test(line))) return [`no TLS 1.3: ${text}`];
			const isWeak = (line: string) =>
				/(SSLv[23]|TLSv1\.[01])\s+enabled|Secure client-initiated renegotiation supported/.test(line) ||
				(/^\S+\s+vulnerable to/.test(line) && !/not vulnerable/.test(line)) ||
				(/^(Accepted|Preferred)\s+TLSv1\.2/.test(line) && !/GCM|CHACHA20|CCM/.test(line));
			return lines.filter(isWeak);
		},
	},
	{
		name: 'nmap',
		looksAt: 'the strength of suites',
		debian: 'nmap',
		async run({ secure }) {
			const port = portOf(secure.server.url);
			const text = await run('nmap', ['-Pn', '-p', port, '--script', 'ssl-enum-ciphers', '127.0.0.1']);
			return text.includes('least strength: A') ? [] : [text];
		},
	},
	...(['/', '/demo/', '/docs/', '/docs/api'] as const).map(
		(path): Tool => ({
			name: `wapiti ${path}`,
			looksAt: 'injections, redirections, files, headers and cookies of web applications',
			debian: 'wapiti',
			async run({ plain, folder }) {
				const file = join(folder, 'wapiti.json');
				await run('wapiti', [
					...[
						'--url',
						`${plain.server.url}${path}`,
						'--scope',
						'folder',
						'--flush-session',
						'--no-bugreport',
					],
					...['--max-scan-time', '120', '--format', 'json', '--output', file, '--color', '--verbose', '0'],
				]);
				const { vulnerabilities, anomalies } = JSON.parse(readFileSync(file, 'utf8')) as Record<
					'vulnerabilities' | 'anomalies',
					Record<string, { path: string; info: string }[]>
				>;
				return [vulnerabilities, anomalies].flatMap((kinds) =>
					Object.entries(kinds).flatMap(([kind, found]) =>
						found.map(({ path: at, info }) => `${kind}: ${at} ${info}`),
					),
				);
			},
		}),
	),
	...(
		[
			['headers', ['-H']],
			['bodies', ['-B', '-v', 'POST']],
			['reads', ['-X', '-w', '1', '-y', '20', '-n', '5', '-z', '32']],
		] as const
	).map(
		([what, flags]): Tool => ({
			name: `slowhttptest, ${what}`,
			looksAt: 'clients that are slow, 600 at once',
			debian: 'slowhttptest',
			async run({ plain: { server } }) {
				const ended = run('slowhttptest', [
					...['-c', '600', '-r', '200', '-i', '5', '-l', '30', ...flags],
					...['-u', `${server.url}${what === 'bodies' ? '/hit' : '/tag.js'}`],
				]);
				const slow: string[] = [];
				let isOver = false;
				void ended.finally(() => {
					isOver = true;
				});
				while (!isOver) {
					const startedAtMs = performance.now();
					const { status } = await ask(server.url, 'GET /healthz');
					const tookMs = performance.now() - startedAtMs;
					if (status !== 200 || tookMs > answerMs)
						slow.push(`another client got ${status} after ${Math.round(tookMs)} ms`);
					await new Promise((resolve) => setTimeout(resolve, 200));
				}
				await ended;
				return slow;
			},
		}),
	),
	{
		name: 'redocly',
		looksAt: 'the OpenAPI document',
		run: ({ plain, folder }) =>
			lint(plain, folder, ['@redocly/cli@2', 'lint', '--extends', 'recommended', '--format', 'stylish']),
	},
	{
		name: 'spectral',
		looksAt: 'the OpenAPI document',
		run({ plain, folder }) {
			const rules = join(folder, 'spectral.json');
			writeFileSync(rules, JSON.stringify({ extends: 'spectral:oas' }));
			return lint(plain, folder, [
				...['@stoplight/spectral-cli@6', 'lint', '--ruleset', rules, '--format', 'text', '--quiet'],
				...['--fail-severity', 'error', '--display-only-failures'],
			]);
		},
	},
];

/** Runs a program of npm over the OpenAPI document. */
async function lint({ server }: World, folder: string, args: readonly string[]): Promise<readonly string[]> {
	const file = join(folder, 'openapi.json');
	writeFileSync(file, (await ask(server.url, 'GET /openapi.json')).body);
	await using tool = new TestProcess('npx', ['--yes', ...args, file]);
	const { code, stdout, stderr } = await tool.endsWithin(toolMs);
	return code === 0 ? [] : [stdout + stderr];
}

function isInstalled(command: string): boolean {
	try {
		execFileSync('sh', ['-c', 'command -v "$0"', command], { stdio: 'ignore' });
		return true;
	} catch {
		return false;
	}
}

const { only } = parseArgs({ options: { only: { type: 'string' } } }).values;
const folder = mkdtempSync(join(tmpdir(), 'caskade-strangers-tools-'));
const files = { cert: join(folder, 'certificate.pem'), key: join(folder, 'key.pem') };
const pair = await selfSignedPair();
writeFileSync(files.cert, pair.cert);
writeFileSync(files.key, pair.key);
const target: Target = {
	folder,
	secure: await startWorld(`sqlite:${join(folder, 'secure')}`, [
		'--tls-cert',
		files.cert,
		'--tls-key',
		files.key,
	]),
	plain: await startWorld(`sqlite:${join(folder, 'plain')}`),
};
const missing: string[] = [];
let found = 0;
for (const tool of tools) {
	if (only !== undefined && !tool.name.startsWith(only)) continue;
	if (tool.debian !== undefined && !isInstalled(tool.name.split(/[ ,]/)[0] as string)) {
		missing.push(tool.debian);
		continue;
	}
	const startedAtMs = performance.now();
	const reported = await tool.run(target);
	const findings = reported.filter((one) => !accepted.some(({ finding }) => finding.test(one)));
	found += findings.length;
	const seconds = Math.round((performance.now() - startedAtMs) / 1000);
	console.log(`${tool.name} (${tool.looksAt}): ${findings.length || 'no'} findings, ${seconds} s`);
	for (const finding of findings) console.log(`  ${finding}`);
}
await endWorld(target.secure);
await endWorld(target.plain);
rmSync(folder, { recursive: true });
console.log('No findings:');
for (const { finding, because } of accepted) console.log(`  ${finding.source}: ${because}`);
if (missing.length > 0) console.log(`Not installed: apt-get install ${[...new Set(missing)].join(' ')}`);
process.exitCode = found + missing.length > 0 ? 1 : 0;
