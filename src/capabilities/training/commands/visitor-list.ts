import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { OperatorError } from '../../../core/errors.ts';
import { pageVisitors, type VisitorRef } from '../serve/batch-scores.ts';

/**
 * Reads a list of visitors, a page at a time.
 * @param counts.wanted counts the visitors read
 * @throws OperatorError where the file cannot be read or a line is invalid
 */
export async function* readVisitorList(
	path: string,
	counts: { wanted: number },
): AsyncIterable<VisitorRef[]> {
	const file = createReadStream(path);
	// Otherwise an error on opening would be thrown later, while lines are read.
	await once(file, 'open').catch((error: NodeJS.ErrnoException) => {
		throw new OperatorError(`${path} cannot be read: ${error.code}.`, { cause: error });
	});
	let page: VisitorRef[] = [];
	let lineNumber = 0;
	for await (const line of createInterface({ input: file, crlfDelay: Number.POSITIVE_INFINITY })) {
		lineNumber++;
		if (line.trim() === '') continue;
		const wanted = parseVisitor(line.trim());
		if (!wanted)
			throw new OperatorError(
				`${path}, line ${lineNumber}: it must be a vid of 32 lower-case hexadecimal digits, or {"visitor":"…","vid":"…"}.`,
			);
		counts.wanted++;
		if (page.push(wanted) === pageVisitors) {
			yield page;
			page = [];
		}
	}
	if (page.length > 0) yield page;
}

function parseVisitor(line: string): VisitorRef | undefined {
	const isVid = (value: unknown) => typeof value === 'string' && /^[0-9a-f]{32}$/.test(value);
	if (isVid(line)) return { vid: line };
	try {
		const { visitor, vid } = JSON.parse(line);
		return isVid(vid) && typeof visitor === 'string' ? { visitor, vid } : undefined;
	} catch {
		return undefined;
	}
}
