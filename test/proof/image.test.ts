import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
	chmodSync,
	copyFileSync,
	cpSync,
	globSync,
	lchownSync,
	mkdirSync,
	readFileSync,
	statSync,
	symlinkSync,
	writeFileSync,
} from 'node:fs';
import { dirname, join, matchesGlob, resolve } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { buildPackages } from '../../.ci/build.ts';
import { eventually } from '../eventually.ts';
import { freePort } from '../free-port.ts';
import { TestProcess } from '../process.ts';
import { temporaryFolder } from '../support.ts';

const project = join(import.meta.dirname, '../..');
const isRoot = process.getuid?.() === 0;
/** `node` of the image, who owns nothing here. */
const user = 65_534;

/** A stage of the image, in a folder that stands for its root. */
interface Stage {
	readonly root: string;
	readonly environment: Record<string, string>;
	workFolder: string;
	user: string;
	ports: readonly string[];
	healthCheck: readonly string[];
	command: readonly string[];
}

/** What the base has: Node and what installs. Its npm is this machine's. */
function baseIn(root: string): Stage {
	const programs = join(root, 'usr/local/bin');
	mkdirSync(programs, { recursive: true });
	for (const folder of ['app', 'tmp', 'usr/local/lib/node_modules/npm', 'opt/yarn-v1.22.22'])
		mkdirSync(join(root, folder), { recursive: true });
	copyFileSync(process.execPath, join(programs, 'node'));
	chmodSync(join(programs, 'node'), 0o755);
	for (const name of ['npm', 'npx'])
		symlinkSync(execFileSync('which', [name], { encoding: 'utf8' }).trim(), join(programs, name));
	// There is no user `node` here.
	mkdirSync(join(root, 'stubs'));
	writeFileSync(join(root, 'stubs/chown'), '#!/bin/sh\ntest "$1" = node:node\n', { mode: 0o755 });
	return { root, environment: {}, workFolder: '/', user: 'root', ports: [], healthCheck: [], command: [] };
}

/** Follows the steps of a Dockerfile without an engine: a path from the root is one in the stage's folder. @returns the last stage */
function follow(dockerfile: string, context: string, folder: string): Stage {
	const ignored = readFileSync(join(project, '.dockerignore'), 'utf8').trim().split('\n');
	assert.equal(ignored[0], '*');
	const sent = ignored.slice(1).map((line) => line.replace(/^!/, ''));
	const stages = new Map<string, Stage>();
	const args = new Map<string, string>();
	let stage = undefined as unknown as Stage;
	const inRoot = (text: string) =>
		text.replaceAll(/(?<![\w.])\/(?=(?:app|data|tmp|opt|usr\/local)\b)/g, `${stage.root}/`);
	const steps: Readonly<Record<string, (text: string) => void>> = {
		ARG(text) {
			const [name = '', value = ''] = text.split('=');
			args.set(name, value);
		},
		FROM(text) {
			const [base = '', , name = 'last'] = text.split(' ');
			assert.match(args.get(base.slice(1)) ?? '', /^node:\d+\.\d+\.\d+-[a-z]+-slim(@sha256:[0-9a-f]{64})?$/);
			stage = baseIn(join(folder, name));
			stages.set(name, stage);
		},
		WORKDIR(text) {
			stage.workFolder = text;
		},
		COPY(text) {
			const [, from, source = '', target = ''] = /^(?:--from=(\w+) )?(\S+) (\S+)$/.exec(text) ?? [];
			if (from === undefined)
				assert.ok(
					sent.some((pattern) => matchesGlob(source, pattern)),
					`${source} is ignored`,
				);
			const root = from === undefined ? context : (stages.get(from) as Stage).root;
			const to = join(stage.root, resolve(stage.workFolder, target));
			mkdirSync(dirname(to), { recursive: true });
			cpSync(join(root, source), to, { recursive: true, verbatimSymlinks: true });
		},
		RUN(text) {
			execFileSync('sh', ['-ec', inRoot(text)], {
				cwd: join(stage.root, stage.workFolder),
				env: {
					...process.env,
					PATH: `${stage.root}/stubs:${stage.root}/usr/local/bin:/usr/bin:/bin`,
					npm_config_prefix: join(stage.root, 'usr/local'),
				},
				stdio: 'pipe',
				timeout: 300_000,
			});
		},
		ENV(text) {
			for (const [, name = '', value = ''] of text.matchAll(/(\w+)=(\S+)/g))
				stage.environment[name] = value.replace(':/data', `:${stage.root}/data`);
		},
		USER(text) {
			stage.user = text;
		},
		VOLUME(text) {
			assert.ok(statSync(join(stage.root, text)).isDirectory());
		},
		EXPOSE(text) {
			stage.ports = text.split(' ');
		},
		HEALTHCHECK(text) {
			stage.healthCheck = JSON.parse(inRoot(text.slice(text.indexOf('['))));
		},
		CMD(text) {
			stage.command = JSON.parse(inRoot(text));
		},
	};
	const lines = dockerfile
		.replaceAll(/^#.*\n/gm, '')
		.replaceAll(/\\\n\s*/g, '')
		.split('\n');
	for (const line of lines.filter(Boolean)) {
		const [, name = '', text = ''] = /^([A-Z]+) (.*)$/.exec(line) ?? [];
		const step = steps[name];
		assert.ok(step, `${line}: not known here`);
		step(text);
	}
	return stage;
}

test('the image serves from a tree that nobody may write, as a user without rights, and has nothing that installs', async (t) => {
	let writable = () => {};
	// Before the folder is removed.
	t.after(() => writable());
	const folder = temporaryFolder(t);
	chmodSync(folder, 0o755);
	await buildPackages(join(folder, 'dist'));
	mkdirSync(join(folder, 'deploy'));
	cpSync(join(project, 'deploy/docker'), join(folder, 'deploy/docker'), { recursive: true });
	const image = follow(readFileSync(join(project, 'Dockerfile'), 'utf8'), folder, join(folder, 'stages'));
	assert.equal(image.user, 'node');
	assert.deepEqual(image.ports, ['8080', '8081']);
	const { root } = image;
	assert.deepEqual(globSync('usr/local/bin/*', { cwd: root }).sort(), [
		'usr/local/bin/caskade',
		'usr/local/bin/node',
	]);
	assert.deepEqual(
		globSync(['usr/local/lib/*', 'opt/*', 'app/**/*.{map,d.ts}', 'app/src/**/*.ts'], { cwd: root }),
		[],
	);
	const bytes = globSync('app/**/*', { cwd: root }).reduce(
		(sum, path) => sum + statSync(join(root, path)).size,
		0,
	);
	t.diagnostic(`besides the runtime: ${(bytes / 1e6).toFixed(1)} MB`);
	assert.ok(bytes < 60e6, `${bytes} bytes`);

	writable = () => execFileSync('chmod', ['-R', 'u+w', root]);
	const run = startIn(image);
	const port = await freePort();
	const settings = { CASKADE_PORT: String(port), CASKADE_CONSOLE_PORT: String(await freePort()) };
	assert.notEqual((await run(image.healthCheck, settings).ended).code, 0);
	await using server = run(image.command, settings);
	await eventually('healthy', async () => (await run(image.healthCheck, settings).ended).code === 0, 5000);
	const created = await run(['caskade', 'account', 'create', 'c-a-acme-uk', '--client', 'acme']).ended;
	assert.equal(created.code, 0, created.stderr);
	const issued = await run(['caskade', 'key', 'issue', '--client', 'acme', '--json']).ended;
	const request = {
		method: 'POST',
		headers: { 'x-api-key': JSON.parse(issued.stdout).key, 'content-type': 'application/json' },
		body: JSON.stringify({
			aid: 'c-a-acme-uk',
			data: [{ tid: 'order-1', subid: 'sub-1', evt: 'newsletter' }],
		}),
	};
	const upload = async () => (await fetch(`http://127.0.0.1:${port}/subscription`, request)).status;
	await eventually('the key is known', async () => (await upload()) === 201);
	for (const page of [
		'/docs/how-to/install',
		'/llms.txt',
		'/docs/api',
		'/docs/api/swagger-ui-bundle.js',
		'/tag.js',
	])
		assert.equal((await fetch(`http://127.0.0.1:${port}${page}`)).status, 200, page);
	server.child.kill('SIGTERM');
	assert.equal((await server.ended).code, 0);
});

/** Takes the right to write from everybody, and runs programs of the image as its user. */
function startIn({ root, environment }: Stage) {
	const [data, temporary] = [join(root, 'data'), join(root, 'tmp')];
	assert.equal(statSync(data).mode & 0o777, 0o700);
	if (isRoot) for (const path of [data, temporary]) lchownSync(path, user, user);
	execFileSync('chmod', ['-R', 'a-w,a+rX', join(root, 'app'), join(root, 'usr')]);
	return ([program = '', ...rest]: readonly string[], settings: Record<string, string> = {}) => {
		const whole = join(root, 'usr/local/bin', program);
		const all = isRoot
			? ['setpriv', `--reuid=${user}`, `--regid=${user}`, '--clear-groups', whole, ...rest]
			: [whole, ...rest];
		return new TestProcess(all[0] as string, all.slice(1), {
			NODE_OPTIONS: '',
			HOME: '/nonexistent',
			TMPDIR: temporary,
			PATH: `${root}/usr/local/bin:/usr/bin:/bin`,
			...environment,
			...settings,
		});
	};
}

test('who deploys the image makes it read-only, without rights, with the console on loopback', () => {
	const read = (path: string) => parse(readFileSync(join(project, path), 'utf8'), { merge: true });
	const own = [
		...Object.values<{ image?: string; ports?: string[] }>(read('compose.yaml').services),
		...Object.values<{ image?: string; ports?: string[] }>(read('deploy/compose/compose.yaml').services),
	].filter(({ image }) => image?.startsWith('caskade:'));
	assert.equal(own.length, 3);
	for (const { image, ports = [], ...rest } of own) {
		const { version } = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8'));
		assert.equal(image, `caskade:${version}`);
		for (const port of ports) assert.match(port, /^127\.0\.0\.1:/);
		const { read_only, cap_drop, security_opt } = rest as Record<string, unknown>;
		assert.deepEqual([read_only, cap_drop, security_opt], [true, ['ALL'], ['no-new-privileges:true']]);
	}
	const [container] = read('deploy/kubernetes/deployment.yaml').spec.template.spec.containers;
	assert.equal(container.securityContext.readOnlyRootFilesystem, true);
	assert.equal(container.securityContext.allowPrivilegeEscalation, false);
	assert.ok(!JSON.stringify(read('deploy/kubernetes/service.yaml')).includes('console'));
});
