/**
 * `node bench/import.ts [LINES] [ordered|shuffled] [FOLDER]` imports generated history into a new data folder in FOLDER,
 * which should be on the disk to be measured. The history comes from a fixed seed: 5 hits in three visits per visitor, and
 * a subscription event soon after for every fourth visitor. Prints lines per second, CPU time, peak memory and bytes on
 * disk per line.
 */

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import { openStore } from '../src/assembly/open-store.ts';
import { HistoryImport } from '../src/capabilities/history/history-import.ts';
import { InputFile } from '../src/capabilities/history/input-file.ts';
import { dayMs, minuteMs } from '../src/core/durations.ts';
import { seededRandom } from '../src/kit/random.ts';

async function measure(lines: number, order: string, parent: string): Promise<void> {
	const folder = mkdtempSync(join(parent, 'caskade-import-'));
	try {
		const path = join(folder, 'history.ndjson');
		// In another process, so that its memory is not measured.
		const [code] = await once(fork(import.meta.filename, ['--write', path, String(lines), order]), 'exit');
		if (code !== 0) throw new Error('writing the history file failed');
		const store = await openStore(`sqlite:${folder}`);
		const account = { aid: 'c-a-bench', client: 'bench', origins: [] };
		const { id } = await store.control.createAccount(account, (accountId) =>
			store.createAccountDatabase(accountId),
		);
		const [startedAtMs, cpuBefore] = [performance.now(), process.cpuUsage()];
		using history = await HistoryImport.begin({
			store,
			accountId: id,
			nowMs: Date.now(),
			channelRules: [],
			onProblem(_, line, problem) {
				throw new Error(`line ${line}: ${problem}`);
			},
		});
		using input = InputFile.open(path);
		const report = await history.read(input, () => {});
		const readSeconds = (performance.now() - startedAtMs) / 1000;
		await history.store(
			() => {},
			() => {},
		);
		const seconds = (performance.now() - startedAtMs) / 1000;
		const { user, system } = process.cpuUsage(cpuBefore);
		const writtenBytes = Number(/^write_bytes: (\d+)/m.exec(readFileSync('/proc/self/io', 'utf8'))?.[1]);
		await store.close();
		const bytes = sizeOf(join(folder, 'accounts'));
		print(`${order}: ${report.hits} hits, ${report.events} events of ${report.lines} lines`);
		print(
			`${Math.round(report.lines / seconds)} lines/s, ${seconds.toFixed(1)} s, of which ${readSeconds.toFixed(1)} s reading`,
		);
		print(
			`${((user + system) / report.lines).toFixed(1)} µs of CPU a line: ${(user / 1e6).toFixed(1)} s user, ${(system / 1e6).toFixed(1)} s system`,
		);
		print(`${(process.resourceUsage().maxRSS / 1024).toFixed(0)} MB at most`);
		print(
			`${(bytes / report.lines).toFixed(0)} bytes a line on disk, ${(writtenBytes / report.lines).toFixed(0)} written, ${(statSync(path).size / report.lines).toFixed(0)} in the file`,
		);
	} finally {
		rmSync(folder, { recursive: true });
	}
}

function sizeOf(folder: string): number {
	return readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
}

function print(text: string): void {
	process.stdout.write(`${text}\n`);
}

const hitsPerVisitor = 5;
const pages = ['', 'pricing', 'blog/why-casks', 'docs/start', 'checkout', 'about', 'features/segments'];
const sources = ['', '', 'https://www.google.com/', 'https://news.example/', 'https://www.facebook.com/'];

/** Writes the history file. First visits are spread over 90 days, and a visitor's three visits over at most 20 days. */
async function write(path: string, lines: number, isShuffled: boolean): Promise<void> {
	const random = seededRandom(1);
	const startMs = Date.now() - 120 * dayMs;
	const visitors = Math.ceil(lines / (hitsPerVisitor + 0.25));
	const [times, keys] = [new Float64Array(lines), new Float64Array(lines)];
	let line = 0;
	for (let visitor = 0; line < lines; visitor++) {
		let atMs = startMs + Math.floor((visitor / visitors) * 90 * dayMs);
		for (let hit = 0; hit <= hitsPerVisitor && line < lines; hit++) {
			if (hit === hitsPerVisitor && visitor % 4 !== 0) break;
			const isNewVisit = hit === 2 || hit === 4;
			atMs += Math.floor(random() * (isNewVisit ? 10 * dayMs : 20 * minuteMs));
			times[line] = atMs;
			keys[line] = visitor * 8 + hit;
			line++;
		}
	}
	const order = Uint32Array.from({ length: lines }, (_, index) => index);
	const rank = isShuffled ? Float64Array.from({ length: lines }, random) : times;
	order.sort((a, b) => (rank[a] as number) - (rank[b] as number));
	const stream = createWriteStream(path);
	let text = '';
	for (const [index, line] of order.entries()) {
		text += `${lineOf(keys[line] as number, times[line] as number)}\n`;
		if (text.length < 1024 * 1024 && index < lines - 1) continue;
		if (!stream.write(text)) await once(stream, 'drain');
		text = '';
	}
	stream.end();
	await finished(stream);
}

function lineOf(key: number, atMs: number): string {
	const [visitor, hit] = [Math.floor(key / 8), key % 8];
	const at = new Date(atMs).toISOString();
	const tid = `order-${visitor}`;
	if (hit === hitsPerVisitor)
		return JSON.stringify({ type: 'subscription', at, tid, subid: tid, evt: 'newsletter', rvn: 499 });
	const isLast = hit === hitsPerVisitor - 1;
	return JSON.stringify({
		type: 'hit',
		at,
		visitor: `user-${visitor}`,
		url: `https://shop.example/${pages[isLast ? 4 : (visitor * 3 + hit) % pages.length]}${visitor % 3 === 0 && hit === 0 ? '?utm_source=news&utm_medium=email' : ''}`,
		referrer: hit === 0 ? sources[visitor % sources.length] : 'https://shop.example/',
		...(isLast && { events: [{ name: 'checkout', ...(visitor % 4 === 0 && { tid }) }] }),
	});
}

const [command, second, third] = process.argv.slice(2);
if (command === '--write') await write(String(second), Number(third), process.argv[5] === 'shuffled');
else await measure(Number(command ?? 1_000_000), second ?? 'ordered', third ?? tmpdir());
