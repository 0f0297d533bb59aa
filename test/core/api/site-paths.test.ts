import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { OperatorError } from '../../../src/core/errors.ts';
import { appOver } from '../../faulty-store.ts';
import { assertMisused, assertRefused, caskadeWithin } from '../../process.ts';
import { some } from '../../quick.ts';
import { temporaryFolder } from '../../support.ts';

type Paths = NonNullable<Parameters<typeof appOver>[2]>;

async function assertTaken(t: TestContext, options: Paths, sentence: RegExp): Promise<void> {
	await assert.rejects(appOver(t, {}, options), (error) => {
		assert.ok(error instanceof OperatorError, JSON.stringify(options));
		assert.match(error.message, sentence);
		return true;
	});
}

test("hits and the tag may be at any path but the service's own, and what is below those", async (t) => {
	const { app } = await appOver(t, {}, { demo: true });
	const { paths } = (await app.inject('/openapi.json')).json();
	const ofOperations = Object.keys(paths ?? {}).map((path) => path.replace(/\{.*\}/, 'order-1'));
	assert.ok(ofOperations.includes('/reports/ltv') && ofOperations.includes('/subscription/order-1'));
	const others = [
		...['/hit.gif', '/tag.js', '/tag.v1.js', '/healthz', '/readyz', '/openapi.json'],
		...['/docs', '/docs/api/start.js', '/docs/other', '/demo', '/demo/index.html', '/demo/other', '/reports'],
	];
	for (const [index, path] of some([...[...ofOperations, ...others].entries()], 7)) {
		const flag = index % 2 === 0 ? 'hit' : 'tag';
		const sentence = new RegExp(
			`^--${flag}-path must not be ${path}, because /[a-z0-9.]+ is the service's own`,
		);
		await assertTaken(t, { demo: true, [`${flag}Path`]: path }, sentence);
	}
	const prefixed = { prefix: '/api/staging', tagPath: '/healthz' };
	await assertTaken(t, prefixed, /^--tag-path must not be \/healthz/);
});

test('hits and the tag may not be at one path', async (t) => {
	for (const tagPath of ['/basket', '/basket.gif'])
		await assertTaken(
			t,
			{ hitPath: '/basket', tagPath },
			/^--tag-path must not be \/basket.*--hit-path \/basket/,
		);
});

test('paths that only resemble those of the service are free', async (t) => {
	for (const [prefix, hitPath, tagPath] of [
		['', '/shop/hit', '/shop/tag.js'],
		['', '/hits', '/Docs'],
		['/api', '/api/hit', '/api'],
	] as const) {
		const { app } = await appOver(t, {}, { prefix, hitPath, tagPath });
		const status = async (path: string) => (await app.inject(prefix + path)).statusCode;
		assert.deepEqual([await status(tagPath), await status('/tag.js')], [200, 200]);
		assert.deepEqual([await status(hitPath), await status(`${hitPath}.gif`)], [405, 400]);
	}
});

test('a server that is told so does not start, and says why', async (t) => {
	const serve = (...args: string[]) =>
		caskadeWithin(['serve', '--port', '0', '--database', `sqlite:${temporaryFolder(t)}`, ...args]);
	assertRefused(
		await serve('--tag-path', '/reports/ltv'),
		/^caskade: --tag-path must not be \/reports\/ltv, because \/reports is the service's own; choose another/,
	);
	assertMisused(await serve('--hit-path', '/a/'), /It must be a path such as \/api or \/js\/shop\.js/);
});
