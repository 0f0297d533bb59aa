import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { minify } from 'terser';
import { currentTag, publishedTags } from './tag-versions.ts';

/** Bundles and minifies `tag/` into the script that browsers load. */
export async function buildTag(): Promise<string> {
	const { outputFiles } = await build({
		entryPoints: [fileURLToPath(new URL('tag/browser-tag.ts', import.meta.url))],
		bundle: true,
		write: false,
		target: 'es2020',
		charset: 'utf8',
		legalComments: 'none',
		// Without `"use strict"`.
		tsconfigRaw: { compilerOptions: { alwaysStrict: false, strict: false } },
	});
	const { code = '' } = await minify((outputFiles[0] as { text: string }).text, {
		ecma: 2020,
		compress: { passes: 3, toplevel: true, unsafe_arrows: true },
		mangle: { toplevel: true },
		format: { preamble: `/* Caskade ${currentTag.replace('.js', '')}, Apache-2.0 */` },
	});
	return `${code}\n`;
}

export function sha256(text: string | Uint8Array): string {
	return createHash('sha256').update(text).digest('hex');
}

/** `npm run build:tag` */
if (import.meta.main) {
	const text = await buildTag();
	const published = publishedTags[currentTag];
	if (published !== undefined && published !== sha256(text)) {
		console.error(
			`${currentTag} is published and must stay as it is; name the next version in tag-versions.ts.`,
		);
		process.exit(1);
	}
	writeFileSync(new URL(`tag/${currentTag}`, import.meta.url), text);
	console.log(`${currentTag}  ${Buffer.byteLength(text)} bytes  sha256 ${sha256(text)}`);
}
