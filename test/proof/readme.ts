/**
 * `npm run proof:readme` runs the commands of the tutorial's first steps in order, on a new data folder and a real server, and
 * compares what they print with what it shows. `test/docs/readme.test.ts` does it with fewer visitors.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { mainPath, ServeProcess, TestProcess } from '../process.ts';

const page = readFileSync(join(import.meta.dirname, '../../docs/tutorial/first-steps.md'), 'utf8');

/** A command, and the lines that the page shows after it. */
interface Shown {
	readonly command: string;
	readonly output: readonly string[];
}

function shownCommands(): Shown[] {
	const shown: { command: string; output: string[] }[] = [];
	for (const [, block = ''] of page.matchAll(/^```\n(.*?)^```/gms))
		for (const line of block.trimEnd().split('\n'))
			if (line.startsWith('$ ')) shown.push({ command: line.slice(2), output: [] });
			else shown.at(-1)?.output.push(line);
	return shown;
}

/** What differs from run to run: ids, keys, times, addresses, folders, and the width of columns that hold them. */
function withoutChance(line: string): string {
	return line
		.replace(/eyJ[\w-]+\.[\w-]+\.[\w-]+/g, 'CASK')
		.replace(/caskade_key_[\w-]+/g, 'KEY')
		.replace(/k_[0-9a-f]{12}/g, 'KEYID')
		.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'UUID')
		.replace(/[0-9a-f]{32}/g, 'VID')
		.replace(/^(commit +)\w+$/, '$1COMMIT')
		.replace(/^(uptimeSeconds +).*/, '$1SOME')
		.replace(/\d{4}-\d\d(-\d\d)?(T[\d:.]+Z)?(\.\d+)?/g, 'TIME')
		.replace(/(?<=All data is in )\/\S*(?=\/data\.$)/, 'FOLDER')
		.replace(/http:\/\/127\.0\.0\.1:\d+/g, 'URL')
		.replace(/link=[\w-]{43}/, 'TOKEN')
		.replace(' --console-url URL', '')
		.replace(/^(ratelimit: .*;t=)\d+/, '$1T')
		.replace(/ {2,}/g, '  ')
		.trimEnd();
}

/** The same without numbers, where they depend on what visitors did until now. */
function withoutNumbers(line: string): string {
	return withoutChance(line)
		.replace(/[-−]?£?\d[\d,.]*/g, '0')
		.replace(/(?<=equally, ).+(?= brought the most)/, 'CHANNEL');
}

/** The form of a JSON document: the names of its fields, and the first item of each list. */
function formOf(value: unknown): unknown {
	if (Array.isArray(value)) return typeof value[0] === 'object' ? [formOf(value[0])] : 'list';
	if (typeof value !== 'object' || value === null) return typeof value;
	return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, formOf(field)]));
}

/** Compares what a command has printed with what it shows. */
function compare({ command, output }: Shown, printed: string, isWhole: boolean): void {
	const lines = printed.split('\n');
	if (/visscores/.test(command)) {
		const [shown = ''] = output;
		assert.deepEqual(formOf(JSON.parse(printed)), formOf(JSON.parse(shown)), command);
		return;
	}
	const dependsOnVisitors = /caskade (demo|train|report|status)/.test(command);
	const normal = dependsOnVisitors ? withoutNumbers : withoutChance;
	const actual = lines.map(normal);
	const known = output.map(normal).filter((line) => line !== '');
	// With fewer visitors, models may not be in use, and channels may be missing.
	const wanted = isWhole
		? known
		: known.filter(
				(line) =>
					!/^Somebody .+ pairs|^(Version|Visitors who converted|The base rate)|^By linear, |^[a-z ]+( {2}0( %)?)+$/.test(
						line,
					),
			);
	let from = 0;
	for (const line of wanted) {
		const at = actual.indexOf(line, from);
		assert.ok(at >= 0, `${command}\nThe page shows: ${line}\nprinted:\n${printed}`);
		from = at + 1;
	}
}

/** @param visitors how many to generate; by default, as many as the page does */
export async function proveReadme(visitors?: number): Promise<number> {
	const folder = mkdtempSync(join(tmpdir(), 'caskade-readme-'));
	const environment: Record<string, string> = { CASKADE_DATABASE: `sqlite:${join(folder, 'data')}` };
	let proven = 0;
	try {
		await using server = await ServeProcess.start(['--demo'], environment);
		for (const shown of shownCommands()) {
			const { command } = shown;
			let printed: string;
			if (command.startsWith('npm ci ')) continue;
			if (command === 'npm start') printed = (await server.printed(/.*bin\/caskade demo.*link=.*\n/s))[0];
			// What a person pastes is what was printed last.
			else if (/^(KEY|CASK)=/.test(command)) continue;
			else {
				const words = command
					.replaceAll('http://127.0.0.1:8080', server.url)
					.replace(/caskade_key_[\w-]+/, '$KEY')
					.replace(/x-api-key: \$KEY'/, `x-api-key: '"$KEY"`)
					.replace(/^bin\/caskade demo$/, `bin/caskade demo${visitors ? ` --visitors ${visitors}` : ''}`)
					.replace(/^bin\/caskade/, `'${process.execPath}' '${mainPath}'`);
				// A running server knows what commands have changed within a second, and they know what it has counted.
				if (/^(curl|bin\/caskade usage)/.test(command)) await setTimeout(1000);
				const ended = await new TestProcess('bash', ['-c', words], environment).ended;
				assert.equal(ended.code, 0, `${command}\n${ended.stderr}`);
				printed = ended.stdout.replaceAll('\r', '');
			}
			const [, key] = /(caskade_key_[\w-]+)/.exec(printed) ?? [];
			const [, cask] = /^CASK=(\S+)$/m.exec(printed) ?? [];
			if (key) environment.KEY = key;
			if (cask) environment.CASK = cask;
			compare(shown, printed, visitors === undefined);
			proven++;
		}
	} finally {
		rmSync(folder, { recursive: true, force: true });
	}
	return proven;
}

if (import.meta.main) process.stdout.write(`${await proveReadme()} commands print what it shows.\n`);
